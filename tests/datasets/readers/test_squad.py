"""SQuAD: offsets, ids, versions, lines of faults."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers.squad import Squad
from firth.datasets.records import Answer, Question
from firth.errors import FirthError

CONTEXT = "A red boat met a blue boat at noon."


def content(answers=(("red", 2),), context=CONTEXT, ids=("a",), **more):
    qas = [
        {"question": "Which?", "id": i, "answers": [{"text": t, "answer_start": s} for t, s in answers], **more}
        for i in ids
    ]
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"qas": qas, "context": context}]}]}


@pytest.fixture
def read(tmp_path):
    def read(value, **options):
        path = tmp_path / "q.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return list(Squad(**options).read(path))

    return read


def test_a_question(read):
    assert read(content()) == [Question("a", CONTEXT, "Which?", (Answer("red", 2),), (), "T", 1)]


def test_numbers_may_be_quoted_and_ids_may_be_numbers(read):
    (result,) = read(content(answers=[("red", "2")], ids=[7]))
    assert result.id == "7" and result.answers == (Answer("red", 2),)


@pytest.mark.parametrize("start", [0, 3, -1, 10**30, "99"])
def test_a_wrong_offset_is_refused_or_kept(read, start):
    with pytest.raises(FirthError, match=r"q\.json:1: answer 'red' is not at character .* offsets=repair"):
        read(content(answers=[("red", start)]))
    assert read(content(answers=[("red", start)]), offsets="keep")[0].answers[0].start == int(start)


@settings(max_examples=200, deadline=None)
@given(st.text("ab", min_size=1, max_size=30), st.text("ab", min_size=1, max_size=3), st.integers(-5, 40))
def test_repair_finds_the_nearest_place(context, answer, start):
    """Against a search of every offset."""
    from firth.datasets.readers.squad import _nearest

    occurrences = [i for i in range(len(context)) if context.startswith(answer, i)]
    result = _nearest(context, Answer(answer, start))
    near = min(max(start, 0), len(context))
    assert (result in occurrences) if occurrences else result is None
    if occurrences:
        assert abs(result - near) == min(abs(offset - near) for offset in occurrences)


def test_an_answer_that_is_nowhere_cannot_be_repaired(read):
    with pytest.raises(FirthError, match="nowhere"):
        read(content(answers=[("green", 2)]), offsets="repair")


def test_ids_are_unique_and_errors_name_the_line(read):
    text = json.dumps(content(ids=["a", "b", "a"]), indent=1)
    wanted = [n for n, line in enumerate(text.split("\n"), 1) if '"id": "a"' in line]
    with pytest.raises(
        FirthError, match=rf"q\.json:{wanted[1]}: question id 'a' occurs twice, first at line {wanted[0]}"
    ):
        read(text)


def test_lines_are_those_of_the_ids(read):
    value = content(ids=["x", "y", "\u00e9\"'", "z"], context='A red "id": "y" boat')
    text = json.dumps(value, indent=2)
    rows = text.split("\n")
    for question in read(text):
        assert json.dumps(question.id) in rows[question.line - 1] and '"id":' in rows[question.line - 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [', r"q\.json:1: not JSON: Expecting value \(column 11\)"),
        ('{\n "data": [,]}', r"q\.json:2: not JSON"),
        ('{"data": NaN}', "not JSON: NaN is not a JSON number"),
        ('{"data": ' + "9" * 5000 + "}", "not JSON: Exceeds the limit"),
        ("[" * 100_000, "nested too deeply"),
        ('{"data": "\\ud800"}', "half of a surrogate pair"),
        ("[]", "the file is not an object"),
        ("{}", "data is missing"),
        ('{"data": {}}', "data is not a list"),
        ('{"data": [{"title": []}]}', r"data\[0\]\.title is not text"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"data\[0\]\.paragraphs\[0\]\.context is missing"),
        (json.dumps(content(ids=[None])), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]: id is missing"),
        (json.dumps(content(ids=[True])), "id is neither text nor number"),
        (json.dumps(content(answers=[("red", 2.0)])), "answer_start is not an integer"),
        (json.dumps(content(answers=[("", 2)])), "text is empty"),
        (json.dumps(content(is_impossible=True)), "is_impossible, but it has answers"),
    ],
)
def test_bad_files_say_what_and_where(read, text, message):
    with pytest.raises(FirthError, match=message):
        read(text)


def test_a_check_goes_on_after_a_fault(tmp_path):
    path, reported = tmp_path / "q.json", []
    path.write_text(json.dumps(content(ids=["a", "a", None, "b"])))
    assert [question.id for question in Squad().read(path, reported.append)] == ["a", "b"]
    assert len(reported) == 2


questions = st.lists(
    st.builds(
        lambda i, context, text, cut, plausible: (i, context, text, cut, plausible),
        st.uuids().map(str),
        st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12),
        st.text(st.characters(blacklist_categories=["Cs"]), max_size=8),
        st.none() | st.integers(0, 11),
        st.booleans(),
    ),
    max_size=5,
)


@settings(max_examples=30, deadline=None)
@given(questions, st.sampled_from(["none", "ascii"]))
def test_what_is_written_is_read_again(tmp_path_factory, parts, escapes):
    path, made = tmp_path_factory.mktemp("q") / "q.json", []
    for i, context, text, cut, plausible in parts:
        answers = (Answer(context[cut % len(context) :], cut % len(context)),) if cut is not None else ()
        made.append(Question(i, context, text, answers, answers and () if not plausible else (), "T"))
    path.write_text("".join(Squad(escapes=escapes).rows(made)), encoding="utf-8")
    assert [question._replace(line=0) for question in Squad().read(path)] == made
    first = path.read_text(encoding="utf-8")
    assert "".join(Squad(escapes=escapes).rows(Squad().read(path))) == first
    assert first.isascii() or escapes == "none"


def test_version_1_and_2_have_the_keys_of_the_public_files(read):
    made = read(content(answers=[], plausible_answers=[{"text": "red", "answer_start": 2}], is_impossible=True))
    (row,) = Squad().rows(made)
    qa = json.loads(row)["data"][0]["paragraphs"][0]["qas"][0]
    assert list(qa) == ["plausible_answers", "question", "id", "answers", "is_impossible"] and qa["is_impossible"]
    with pytest.raises(FirthError, match=r"SQuAD 1\.1 does not allow"):
        list(Squad(version="1.1").rows(made))
    (row,) = replace(Squad(), version="1.1").rows(read(content()))
    assert re.sub(r"\s", "", row).endswith('"version":"1.1"}')
    assert list(json.loads(row)["data"][0]["paragraphs"][0]) == ["context", "qas"]


def test_the_usual_form_comes_back_byte_for_byte(tmp_path):
    path, again = tmp_path / "q.json.gz", tmp_path / "again.json"
    text = json.dumps(content(ids=["a", "b"], is_impossible=False), ensure_ascii=False)
    numbered_lines.save_lines(path, [text], numbered_lines.LineFormat(final_newline=False))
    numbered_lines.save_lines(again, Squad().rows(Squad().read(path)), numbered_lines.detect_line_format(path))
    assert again.read_text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"a": 1}\n{"a": 2}\n',
            r":2: more than one JSON value; if it has one object per line, read it with --format jsonl",
        ),
        ('{"a": 1}\n', r":1: data is missing; .*--format jsonl"),
    ],
)
def test_other_json_is_reported(read, text, message):
    with pytest.raises(FirthError, match=message):
        read(text)
