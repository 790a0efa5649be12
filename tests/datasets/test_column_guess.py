"""Columns of tables: found by their names, else guessed from the values; refused where it could be either."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import LabelledExamples, TaskExamples
from firth.datasets import labelled_dataset
from firth.datasets.column_guess import guess_columns, has_header
from firth.datasets.records import Row
from firth.errors import FirthError

WORDS = ["boat", "harbour", "noon", "a", "the", "left", "red", "three", "loud", "gulls", "wörd", "日本", "çok"]
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=4, max_size=12).map(" ".join)
LABELS = st.sampled_from([("good", "bad"), ("0", "1"), ("sport", "food", "world news"), ("entailment", "neutral")])


def numbered(texts):
    """Texts that are all different."""
    return [f"{text} {number}" for number, text in enumerate(texts)]


def rows(columns, names=()):
    return [Row(tuple(values), line, names) for line, values in enumerate(zip(*columns, strict=True), 1)]


@st.composite
def labelled_columns(draw, sides=1):
    """Texts, labels, and perhaps ids, in any order; and where they are."""
    count = draw(st.integers(12, 40))
    names = draw(LABELS)
    labels = [names[number % len(names)] for number in range(count)]
    texts = [numbered(draw(st.lists(SENTENCE, min_size=count, max_size=count))) for _ in range(sides)]
    ids = draw(st.sampled_from([None, [str(n) for n in range(count)], [f"doc-{n}" for n in range(count)]]))
    columns = {**{f"text{n}": text for n, text in enumerate(texts)}, "label": labels} | ({"id": ids} if ids else {})
    order = draw(st.permutations(sorted(columns)))
    if sides == 2:  # the left text comes first
        first, second = sorted((order.index("text0"), order.index("text1")))
        order[first], order[second] = "text0", "text1"
    return [columns[name] for name in order], {name: str(order.index(name) + 1) for name in columns}


@settings(deadline=None)
@given(labelled_columns())
def test_text_and_label_are_found_in_any_order(table):
    columns, places = table
    found = guess_columns(rows(columns), ("classification", "pairs"), "x")
    assert found == ("classification", {"text": places["text0"], "label": places["label"]})


@settings(deadline=None)
@given(labelled_columns(sides=2))
def test_pairs_are_found_in_any_order(table):
    columns, places = table
    found = guess_columns(rows(columns), ("classification", "pairs"), "x")
    if found is None or found[0] != "pairs":
        pytest.fail(f"{found}")
    assert found[1] == {"left": places["text0"], "right": places["text1"], "label": places["label"]}


@settings(deadline=None)
@given(labelled_columns(), st.sampled_from(["csv", "tsv", "jsonl"]), st.booleans(), st.booleans())
def test_a_file_gives_its_examples_whatever_its_columns(tmp_path_factory, table, form, header, quoted):
    columns, places = table
    names = [f"field_{'abc'[n]}" for n in range(len(columns))]
    path = tmp_path_factory.mktemp("tables") / f"table.{form}"
    records = list(zip(*columns, strict=True))
    if form == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in records))
    else:
        file = io.StringIO()
        rule = csv.QUOTE_ALL if quoted and form == "csv" else csv.QUOTE_MINIMAL
        writer = csv.writer(file, delimiter="," if form == "csv" else "\t", quoting=rule, lineterminator="\n")
        writer.writerows([names, *records] if header else records)
        path.write_text(file.getvalue())
    said = []
    splits = labelled_dataset.read(LabelledExamples(text=(str(path),)), 1, said.append)
    examples = sorted((each.text, *each.labels) for split in splits.values() for each in split.examples)
    text, label = columns[int(places["text0"]) - 1], columns[int(places["label"]) - 1]
    assert examples == sorted(zip(text, label, strict=True))
    said = [line for line in said if "columns" in line]
    assert len(said) == 1 and said[0].startswith(f"{path}: columns text=")
    setting = said[0].rpartition("data.columns=")[2]  # what is said can be given back
    again = (
        labelled_dataset.read(LabelledExamples(text=(str(path),), columns=tuple(setting.split(","))), 1)
        if (not header or form == "jsonl")
        else splits
    )
    assert again["train"].key == splits["train"].key


def test_scores_are_found_first_or_last():
    left, right = numbered(["a red boat"] * 12), numbered(["the loud gulls left"] * 12)
    scores = [f"{n % 5}.{n % 3}5" for n in range(12)]
    tasks = ("similarity",)
    assert guess_columns(rows([scores, left, right]), tasks, "x")[1] == {"score": "1", "left": "2", "right": "3"}
    assert guess_columns(rows([left, right, scores]), tasks, "x")[1] == {"score": "3", "left": "1", "right": "2"}


def test_an_id_before_a_translation_is_left_out(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{n}\tThe boat number {n} left.\tLe bateau {n} est parti.\n" for n in range(20)))
    config = TaskExamples(text=(str(path),), tasks=("translation",))
    assert labelled_dataset.read(config, 1)["train"].examples[0].left.startswith("The boat")


def test_a_small_file_needs_no_repeated_labels(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("good,the red boat left at noon\nbad,it never came back again\nfair,nobody saw the boat\n")
    said = []
    labelled_dataset.read(LabelledExamples(text=(str(path),)), 1, said.append)
    assert said[:1] == [f"{path}: columns text=2, label=1; to change: --set data.columns=text=2,label=1"]


def test_a_file_of_the_same_shape_is_read_like_the_first(tmp_path):
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_text("".join(f"{'ab'[n % 2]}\tword{n % 7} and more text {n}\n" for n in range(40)))
    test.write_text("b\tb\na\ta\n")
    splits = labelled_dataset.read(LabelledExamples(text=(str(train),), test=(str(test),)), 1)
    assert [(each.text, each.labels) for each in splits["test"].examples] == [("b", ("b",)), ("a", ("a",))]


AMBIGUOUS = [
    (["en", "fr"], ["good", "bad"], "which column is the label: 2 or 3?; say it: --set data.columns=text=1,label=2"),
]


@pytest.mark.parametrize(("first", "second", "message"), AMBIGUOUS)
def test_two_possible_labels_are_refused_by_name(first, second, message):
    texts = numbered(["the red boat left"] * 24)
    columns = [texts, [first[n % 2] for n in range(24)], [second[n % 3 % 2] for n in range(24)]]
    with pytest.raises(FirthError) as error:
        guess_columns(rows(columns), ("classification",), "x.tsv")
    assert str(error.value) == f"x.tsv: {message}"
    assert "\n" not in str(error.value)
    named = guess_columns(rows(columns, ("comment", "language", "mood")), ("classification",), "x.tsv")
    assert named[1] == {"text": "comment", "label": "mood"}


def test_two_possible_texts_are_refused_by_name():
    texts, others = numbered(["the red boat left"] * 24), numbered(["three loud gulls"] * 24)
    columns = [texts, others, ["ab"[n % 2] for n in range(24)]]
    names = ("headline", "article", "kind")
    with pytest.raises(FirthError, match=r"^x: which column is the text: 'headline' or 'article'\?; say it: --set"):
        guess_columns(rows(columns, names), ("classification",), "x")
    assert guess_columns(rows(columns, names), ("classification", "pairs"), "x")[0] == "pairs"


def test_what_fits_nothing_is_no_guess():
    assert guess_columns(rows([numbered(["a red boat left"] * 9)]), ("classification", "pairs"), "x") is None


@pytest.mark.parametrize(
    ("first", "rest", "wanted"),
    [
        (("comment", "mood"), [("it was a good film", "good"), ("it never ended at all", "bad")] * 6, True),
        (("comment", "points"), [("it was a good film", "3"), ("it never ended at all", "1")] * 6, True),
        (("lovely", "good"), [("it was a good film", "good"), ("it never ended at all", "bad")] * 6, False),
        (("it was lovely", "fair"), [("it was a good film", "good"), ("it never ended", "bad")] * 6, False),
        (("cat", "animal"), [("oak", "tree"), ("ant", "insect"), ("elm", "tree"), ("bee", "insect")] * 3, False),
        (("comment", "mood"), [("it was a good film", "good")] * 2, False),
    ],
)
def test_a_header_of_unknown_names_is_recognised_by_what_is_below(first, rest, wanted):
    assert has_header([Row(values) for values in (first, *rest)]) is wanted


def test_names_that_are_given_make_the_first_line_a_header_and_numbers_do_not(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("comment\tmood\n" + "".join(f"the red boat left {n}\t{'ab'[n % 2]}\n" for n in range(20)))
    counts = {}
    for columns in ((), ("text=comment", "label=mood"), ("text=1", "label=2")):
        splits = labelled_dataset.read(LabelledExamples(text=(str(path),), columns=columns), 1)
        counts[columns] = sum(len(part.examples) for part in splits.values())
    assert list(counts.values()) == [20, 20, 21]


def test_a_check_guesses_too(tmp_path):
    from firth.datasets.checks import check
    from firth.datasets.readers import guess
    from firth.datasets.table_columns import guess_table

    path = tmp_path / "x.csv"
    path.write_text("comment,points\n" + "".join(f"the red boat left {n},{n % 2}\n" for n in range(20)))
    form, columns = guess_table(guess(path), path, "classification")
    assert columns == {"text": "comment", "label": "points"}
    report = check(path, "classification", form, columns)
    assert report.records == 20 and not report.faults and set(report.labels) == {"0", "1"}
    path.write_text("a,b\nc\n")
    assert guess_table(guess(path), path, "classification") == (guess(path), {})
