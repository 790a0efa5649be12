"""Tasks: which records serve them, and checks that show all faults of a file at once."""

from __future__ import annotations

import json

import pytest

from firth.datasets import checks, readers, tasks
from firth.datasets.records import Alignment, Image, Labelled, Pair, Row, Sentence, Tagged, Tree
from firth.errors import FirthError

WORD = ("1", "Go", "go", "VERB", "_", "_", "0", "root", "_", "_")


@pytest.mark.parametrize(
    ("task", "record", "example"),
    [
        ("classification", Row(("1", "good"), 4, ("label", "text")), Labelled("good", ("1",), 4)),
        (
            "classification",
            Tree("3", (Tree("2", (), "It"), Tree("4", (), "works")), line=2),
            Labelled("It works", ("3",), 2),
        ),
        ("classification", Labelled("a", ("x", "y")), Labelled("a", ("x", "y"))),
        ("pairs", Row(("no", "a", "b"), 1, ("Quality", "#1 String", "#2 String")), Pair("a", "b", "no", None, 1)),
        ("pairs", Row(("q", "s", "1"), 1, ("question", "sentence", "label")), Pair("q", "s", "1", None, 1)),
        ("similarity", Row(("a", "b", "2.50"), 1, ("left", "right", "score")), Pair("a", "b", None, 2.5, 1)),
        ("translation", Row(("a", "b"), 1, ("source", "target")), Pair("a", "b", line=1)),
        ("summarisation", Row(("7", "long", "short"), 1, ("id", "body", "subject")), Pair("long", "short", line=1)),
        ("tagging", Sentence((), (WORD,), 3), Tagged(("Go",), (("VERB",),), line=3)),
        ("language", Sentence((), (WORD,), 3), Labelled("Go", (), 3)),
        ("language", Row(("x",), 1, ("text",)), Labelled("x", (), 1)),
        ("alignment", Alignment(((0, 1),), 2), Alignment(((0, 1),), 2)),
    ],
)
def test_records_become_examples(task, record, example):
    assert list(tasks.examples([record], task)) == [example]


def test_columns_are_named_by_hand():
    row = Row(("a", "b", "c"), 1, ("one", "Two", "text"))
    assert tasks.Converter("classification", {"text": "two", "label": "one"})(row) == Labelled("b", ("a",), 1)
    assert tasks.Converter("classification", {"text": "3", "label": "1"})(row._replace(names=())) == Labelled(
        "c", ("a",), 1
    )


@pytest.mark.parametrize(
    ("task", "record", "message"),
    [
        ("classification", Row(("a", "b"), 1), "no column 'text' .there are 2 without names.; name it with --column"),
        ("pairs", Row(("a", "b"), 1, ("left", "label")), "no column 'right'"),
        ("similarity", Row(("a", "b", "x"), 1, ("left", "right", "score")), "score 'x' is not a number"),
        ("similarity", Row(("a", "b", "nan"), 1, ("left", "right", "score")), "score 'nan' is not a number"),
        ("parsing", Labelled("a", ()), "task parsing needs Sentence, but the file has Labelled"),
        ("classification", Labelled("a", ()), "a text without a label"),
        ("pairs", Pair("a", "b"), "a pair without a label"),
        ("similarity", Pair("a", "b"), "a pair without a score"),
        ("captions", Image(None), "an image without a caption"),
        ("images", Image(None), "an image without a label"),
    ],
)
def test_records_that_cannot_serve(task, record, message):
    with pytest.raises(FirthError, match=message):
        tasks.Converter(task)(record)


def test_unknown_names_are_refused():
    with pytest.raises(FirthError, match="unknown task 'tag'; did you mean 'tagging'"):
        tasks.Converter("tag")
    with pytest.raises(FirthError, match="unknown column of task pairs 'text'"):
        tasks.Converter("pairs", {"text": "a"})


@pytest.fixture
def check(tmp_path):
    def call(text: str, task: str, form: str = "tsv", *given: str, **more) -> checks.Report:
        (tmp_path / "a").write_text(text)
        return checks.check(tmp_path / "a", task, readers.get_format(form, given), **more)

    return call


def faults(report: checks.Report) -> list[str]:
    return [str(problem).rpartition("/a:")[2] for problem in report.problems if not problem.warning]


def warned(report: checks.Report) -> list[str]:
    return [str(problem).rpartition("/a:")[2] for problem in report.problems if problem.warning]


def test_all_faults_of_a_table_are_shown(check):
    report = check(
        "good\tone film\nbad\nbad\t \nbad\ttwo\tthree\ngood\tmore\n", "classification", "tsv", "columns=label,text"
    )
    assert [line.partition(": ")[0] for line in faults(report)] == ["2", "3", "4"]
    assert "3: an empty text; fill it in, or remove the example" in faults(report)
    assert report.records == 3 and report.labels == {"good": 2, "bad": 1} and not report.truncated
    assert report.lengths == (0, 1.0, 2)


def test_warnings_are_no_faults(check):
    report = check("a\tx y\nb\tx\na\tx y\na\tx y\nb\tz\nc\tw\n", "classification", "tsv", "columns=label,text")
    assert not report.faults
    assert warned(report) == [
        "6: label 'c' occurs once; check its spelling",
        "3: a duplicate of line 1; 2 duplicates in all",
    ]


def test_equal_examples_are_found_on_one_line_too(check):
    qas = [{"id": str(n), "question": q, "answers": []} for n, q in enumerate(("Who?", "What?", "Who?"))]
    text = json.dumps({"data": [{"title": "", "paragraphs": [{"context": "Ann sings.", "qas": qas}]}]})
    assert warned(check(text, "question-answering", "squad")) == ["1: a duplicate of record 1; 1 duplicate in all"]


def test_images_are_equal_by_their_pixels(tmp_path):
    for name, pixels in (("pictures", bytes([0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 5, 6, 5])),
                         ("labels", bytes([0, 0, 8, 1, 0, 0, 0, 3, 1, 1, 1]))):  # fmt: skip
        (tmp_path / name).write_bytes(pixels)
    report = checks.check((tmp_path / "pictures", tmp_path / "labels"), "images", readers.get_format("idx"))
    (problem,) = report.problems
    assert problem.warning and problem.what == "a duplicate of record 1; 1 duplicate in all"


def test_repeated_ids_and_scores_that_are_no_numbers(check):
    text = "id\tleft\tright\tscore\n1\ta\tb\t3\n2\ta\tc\tx\n1\tb\tc\t4\n"
    assert faults(check(text, "similarity")) == [
        "3: score 'x' is not a number; give a number in every row",
        "4: id '1' occurs before (line 2); give every row an id of its own",
    ]


def test_a_missing_column_is_said_once(check):
    report = check("1\ta\n2\tb\n", "classification")
    assert len(report.problems) == 1 and "no column 'text'" in report.problems[0].what


def test_so_many_problems_are_enough(check):
    report = check("a\tb\n" + "c\n" * 50, "translation", "tsv", "columns=left,right", max_problems=5)
    assert len(report.problems) == 5 and report.truncated


def test_wrong_tags_are_found_in_the_layers_that_hold_spans(check):
    good = "Ann NNP B-PER\nLee NNP I-PER\nsits VBZ O\n\n"
    report = check(good * 3 + "in IN O\nRio NNP I-LOC\n\n", "tagging", "columns")
    assert faults(report) == ["14: 'I-LOC' between O and the end in iob2, expected 'B-LOC'; correct the tag"]
    assert report.labels == {"PER": 3, "LOC": 1}
    assert not check(good.replace("B-PER", "I-PER") * 3, "tagging", "columns").faults  # IOB1
    assert check("a DT\nb NN\n\na DT\n\n", "tagging", "columns").labels == {"DT": 2, "NN": 1}


def test_trees_of_words_go_on_after_a_fault(check):
    row = "1\tGo\t_\tV\t_\t_\t{}\troot\t_\t_\n\n"
    report = check(row.format(0) + row.format(1) + row.format("x") + row.format(0), "parsing", "conllu")
    assert [line.partition(";")[0] for line in faults(report)] == ["3: a cycle: 1 > 1", "5: head 'x' is not a number"]
    assert report.records == 2 and report.labels == {"root": 2}


def test_labels_that_nobody_can_learn(check, tmp_path):
    train = check("a\tx\nb\ty\n", "classification", "tsv", "columns=label,text")
    test = check("a\tx\nc\ty\n", "classification", "tsv", "columns=label,text")
    (problem,) = checks.compare(train, test)
    assert problem.warning and problem.what.startswith("label 'c' is never seen in")


def test_what_cannot_be_read_at_all_is_a_problem_too(tmp_path):
    report = checks.check(tmp_path / "none", "language", readers.get_format("text"))
    assert len(report.faults) == 1 and "no such file" in report.faults[0].what
