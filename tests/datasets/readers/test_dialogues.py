"""Dialogues: messages with roles, prompts with completions, and what is wrong with a line."""

import json

import pytest

from firth.datasets import numbered_lines, readers, tasks
from firth.datasets.readers.dialogues import Dialogues
from firth.datasets.records import Dialogue, Turn
from firth.errors import FirthError

HELLO = Dialogue((Turn("user", "Hello."), Turn("assistant", "Hi!")), 1)


@pytest.fixture
def read(tmp_path):
    def read(*entries, **options):
        path = tmp_path / "d.jsonl"
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        return list(Dialogues(**options).read(path))

    return read


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def test_messages_and_prompts_are_the_same_dialogue(read):
    messages = {"messages": [message("user", "Hello."), message("assistant", "Hi!")]}
    assert read(messages, {"prompt": "Hello.", "completion": "Hi!"}) == [HELLO, HELLO._replace(line=2)]


def test_names_of_other_programs_are_set(read):
    entry = {"id": 7, "conversations": [{"from": "human", "value": "Hello."}, {"from": "gpt", "value": "Hi!"}]}
    names = {"messages": "conversations", "role": "from", "content": "value", "extra": "drop"}
    assert read(entry, rename=("human=user", "gpt=assistant"), **names) == [HELLO]


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"messages": []}, "d.jsonl:1: messages is empty; give at least one"),
        ({"messages": "Hello."}, "d.jsonl:1: messages is not a list"),
        ({"messages": ["Hello."]}, r"d.jsonl:1: messages\[0\] is not an object"),
        ({"messages": [message("user", None)]}, r"messages\[0\].content is not text"),
        ({"messages": [{"content": "Hello."}]}, r"no key 'messages\[0\].role'; add it"),
        (
            {"messages": [message("asistant", "Hi!")]},
            "unknown role 'asistant'; did you mean 'assistant'\\? Or set rename",
        ),
        ({"messages": [message("user", "Hello.", name="Ann")]}, r"a further key 'messages\[0\].name'; .* extra=drop"),
        ({"prompt": "Hello."}, "no key 'completion'"),
        ({"text": "Hello."}, "a further key 'text'"),
        ({}, "no key 'messages'"),
        (["Hello."], "not an object; write one {…} on each line"),
    ],
)
def test_what_is_wrong_with_a_line(read, entry, error):
    with pytest.raises(FirthError, match=error):
        read(entry)


def test_all_faults_are_reported_and_nothing_else_is_lost(tmp_path):
    path, faults = tmp_path / "d.jsonl", []
    path.write_text('{"messages": []}\n{"prompt": "Hello.", "completion": "Hi!"}\n{"prompt": 1}\n')
    assert list(Dialogues().read(path, faults.append)) == [HELLO._replace(line=2)]
    assert [fault.where for fault in faults] == [f"{path}:1", f"{path}:3"]


def test_any_role_and_bad_renaming(read):
    assert read({"messages": [message("Ann", "Hello.")]}, roles=())[0].turns[0].role == "Ann"
    with pytest.raises(FirthError, match="cannot read rename 'human'"):
        read({"messages": []}, rename=("human",))


def test_prompts_are_written_only_for_an_instruction_and_its_reply():
    form = Dialogues(layout="prompt")
    assert list(form.rows([HELLO])) == ['{"prompt": "Hello.", "completion": "Hi!"}']
    with pytest.raises(FirthError, match="3 turns that are not a prompt and its completion"):
        list(form.rows([HELLO._replace(turns=(*HELLO.turns, Turn("user", "?")))]))


def test_the_format_is_guessed_and_tables_of_two_columns_are_dialogues(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"messages": [{"role": "user", "content": "x"}]}\n')
    (tmp_path / "b.jsonl").write_text('{"instruction": "Hello.", "output": "Hi!"}\n')
    assert readers.guess(tmp_path / "a.jsonl") == Dialogues()
    table = readers.guess(tmp_path / "b.jsonl")
    assert list(tasks.examples(table.read(tmp_path / "b.jsonl"), "dialogue")) == [HELLO]


def test_what_is_written_is_read(tmp_path):
    dialogues = [HELLO, Dialogue((Turn("system", "Be\tbrief.\n"), *HELLO.turns, *HELLO.turns), 2)]
    numbered_lines.save_lines(tmp_path / "d", Dialogues().rows(dialogues))
    assert list(Dialogues().read(tmp_path / "d")) == dialogues
