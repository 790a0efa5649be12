"""`firth run RUN --chat`: turns from the command line, from lines of standard input, and at a terminal."""

from __future__ import annotations

import builtins
import io
import json
import sys

import pytest
from cli_samples import assert_done, assert_refused

import firth

COLOURS = {"sky": "blue", "snow": "white", "coal": "black"}
SETTINGS = {
    "tokenizer.model": "word", "batching.length": 48, "batching.tokens_per_batch": 512, "data.group_duplicates": False,
    "backbone.width": 32, "backbone.depth": 2, "train.evaluate_every": 90, "train.threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """A run that knows the colours of things, and repeats one when asked again."""
    folder = tmp_path_factory.mktemp("chat")
    asked = [[("user", f"colour of {thing} ?"), ("assistant", colour)] for thing, colour in COLOURS.items()]
    again = [[*turns, ("user", "again ?"), turns[-1]] for turns in asked]
    named = [[("system", "be kind"), *turns] for turns in again]
    options = {"budget": "90 steps", "settings": SETTINGS, "learning_rate": 5e-3}
    firth.train("chat-lm:tiny", text=(asked + again + named) * 6, out=folder / "run", **options)
    return folder / "run"


def test_turns_of_standard_input_are_one_conversation(command, chat):
    read = assert_done(command("run", chat, "--chat", "--system", "be kind", stdin=b"colour of coal ?\n\nagain ?\n"))
    assert read.out == "black\nblack\n" and read.err == ""
    assert assert_done(command("run", chat, "--chat", "colour of snow ?")).out == "white\n"
    assert assert_done(command("run", chat, "colour of sky ?")).out == "blue\n"  # a dialogue of one turn


def test_the_oldest_turns_are_dropped_with_a_note(command, chat):
    lines = b"colour of sky ?\n" * 9
    read = assert_done(command("run", chat, "--chat", "--json", stdin=lines))
    answers = [json.loads(line) for line in read.out.splitlines()]
    assert len(answers) == 9 and answers[0]["dropped_turns"] == 0 < answers[-1]["dropped_turns"]
    assert "not fit into the context any more" in read.err


def test_at_a_terminal_a_turn_that_is_too_long_does_not_end_the_conversation(command, chat, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    from firth.cli import conversation

    typed = iter(["again " * 60, "", "colour of coal ?"])

    def type_turn(prompt):
        if (turn := next(typed, None)) is None:
            raise EOFError
        return turn

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(builtins, "input", type_turn)
    conversation.run_chat(firth.load(chat), "", "", {}, as_json=False)
    read = capsys.readouterr()
    assert read.out == "black\n" and "shorten it" in read.err and "Ctrl-D" in read.err


def test_what_cannot_chat_is_one_line(command, chat, corpus, trained):
    assert_refused(command("run", trained, "--chat", "hello"), "does not chat", "firth train chat-lm")
    assert_refused(command("run", chat, "hello", "--system", "be kind"), "--system belongs to --chat")
    assert_refused(command("run", chat, "--chat", "--text", corpus), "--chat reads turns, not a file")
    assert_refused(command("run", chat, "--chat", "hello", "--complete", 3), "this model has no --complete")
    assert_refused(command("run", chat, "--chat", "again " * 60), "shorten it")
