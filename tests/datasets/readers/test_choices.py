"""Multiple choice: the layouts of public sets, made up here, and answers given in every usual way."""

import json

import pytest

from firth.datasets import checks, numbered_lines, readers, tasks
from firth.datasets.readers.choices import MultipleChoice, question_from
from firth.datasets.records import Choices, Row
from firth.errors import FirthError

OURS = {"context": "It rained.", "question": "How was it?", "choices": ["wet", "dry"], "answer": 0}
RAIN = Choices("It rained.", "How was it?", ("wet", "dry"), 0, line=1)
LABELLED = [{"label": "A", "text": "wet"}, {"label": "B", "text": "dry"}]


@pytest.fixture
def read(tmp_path):
    def read(*entries, **options):
        path = tmp_path / "c.jsonl"
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        return list(MultipleChoice(**options).read(path))

    return read


@pytest.mark.parametrize(
    "entry",
    [
        OURS,
        {"ctx": "It rained.", "query": "How was it?", "endings": ["wet", "dry"], "label": "0", "split": "val"},
        {"premise": "It rained.", "question": "How was it?", "choice1": "wet", "choice2": "dry", "label": 0},
        {"context": "It rained.", "question": "How was it?", "answerA": "wet", "answerB": "dry", "correct": "A"},
        {"passage": "It rained.", "question": {"stem": "How was it?", "choices": LABELLED}, "answerKey": "A"},
        {"context": "It rained.", "question": "How was it?", "options": LABELLED, "answer": "wet"},
        {"article": "It rained.", "question": "How was it?", "answerKey": "2",
         "choices": {"label": ["2", "3"], "text": ["wet", "dry"]}},
    ],
)  # fmt: skip
def test_layouts_of_public_sets(read, entry):
    assert read(entry) == [RAIN]


def test_a_line_of_race_has_several_questions(read):
    both = {"questions": ["How was it?", "And then?"], "options": [["wet", "dry"], ["a", "b", "c"]]}
    entry = {"id": "high1", "article": "It rained.", **both, "answers": ["A", "C"]}
    second = Choices("It rained.", "And then?", ("a", "b", "c"), 2, "high1-1", 1)
    assert read(entry) == [RAIN._replace(id="high1-0"), second]
    with pytest.raises(FirthError, match=r"c\.jsonl:1: 2 questions, 2 lists of options and 1 answers"):
        read({**entry, "answers": ["A"]})


def test_rows_of_tables_are_questions(tmp_path):
    (tmp_path / "swag.csv").write_text("ind,sent1,sent2,ending0,ending1,label\n5,It rained.,How was it?,wet,dry,0\n")
    rows = readers.guess(tmp_path / "swag.csv").read(tmp_path / "swag.csv")
    assert list(tasks.examples(rows, "multiple-choice")) == [RAIN._replace(id="5", line=2)]
    with pytest.raises(tasks.UnfitError, match=r"no columns with choices \(there are 'a', 'b'\); name them context"):
        list(tasks.examples([Row(("x", "y"), 1, ("a", "b"))], "multiple-choice"))


@pytest.mark.parametrize(
    ("answer", "count_from", "position"),
    [(0, 0, 0), ("1", 0, 1), (1, 1, 0), ("B", 0, 1), ("B", 1, 1), ("wet", 0, 0), (None, 0, None), ("", 0, None)],
)
def test_answers_are_numbers_letters_or_texts(answer, count_from, position):
    assert question_from({**OURS, "answer": answer}, count_from).answer == position


def test_a_label_goes_before_a_number_and_a_text_may_be_a_letter():
    assert (
        question_from({"choices": [{"label": "1", "text": "a"}, {"label": "0", "text": "b"}], "answer": "0"}).answer
        == 1
    )
    assert question_from({"choices": ["no", "maybe", "yes"], "answer": "maybe"}).answer == 1


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({**OURS, "answer": 2}, "c.jsonl:1: answer '2' is none of the choices, which are 0 to 1; .* count_from=1"),
        ({**OURS, "answer": -1}, "answer '-1' is none"),
        ({**OURS, "answer": "damp"}, "answer 'damp' is none"),
        ({**OURS, "answer": ["A"]}, "answer .* is neither a number nor text"),
        ({**OURS, "choices": ["wet"]}, "1 choices; give two or more"),
        ({**OURS, "choices": ["wet", " "]}, "choice 1 is empty; fill it in"),
        ({**OURS, "choices": ["wet", 3]}, "choices are not a list of texts"),
        ({**OURS, "context": 3}, "context is not text"),
        ({"question": "How was it?"}, "no choices; write"),
        ("How was it?", "not an object"),
    ],
)
def test_what_is_wrong_with_a_line(read, entry, error):
    with pytest.raises(FirthError, match=error):
        read(entry)


def test_what_is_written_is_read_and_guessed(tmp_path):
    path, questions = tmp_path / "c.jsonl", [RAIN, RAIN._replace(id="x", answer=None, line=2)]
    numbered_lines.save_lines(path, MultipleChoice().rows(questions))
    assert list(readers.guess(path).read(path)) == questions
    report = checks.check(path, "multiple-choice")
    assert [str(problem) for problem in report.faults] == [
        f"{path}:2: a question without an answer; add it, or choose another task"
    ]
