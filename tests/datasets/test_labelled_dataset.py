"""Labelled examples: from files, sets and Python, and how they are split."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import LabelledExamples
from firth.datasets import labelled_dataset, sets
from firth.datasets.example_reader import ExampleReader
from firth.datasets.records import Labelled
from firth.datasets.sources import keep_documents
from firth.datasets.tasks import Converter
from firth.errors import FirthError

LINES = "".join(f"__label__{'ab'[n % 2]} text number {n}\n" for n in range(40))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "labelled.txt"
    path.write_text(LINES)
    return path


def contents(result):
    return {name: [example[:2] for example in split.examples] for name, split in result.items()}


def test_fractions_part_the_examples(file):
    result = labelled_dataset.read(LabelledExamples(text=(str(file),)), seed=1)
    every = [example for split in contents(result).values() for example in split]
    assert {name: len(split.examples) for name, split in result.items()} == {"train": 32, "valid": 4, "test": 4}
    assert sorted(every) == sorted((f"text number {n}", ("ab"[n % 2],)) for n in range(40))
    again, other = (labelled_dataset.read(LabelledExamples(text=(str(file),)), seed) for seed in (1, 2))
    assert contents(again) == contents(result) != contents(other)
    assert again["train"].key == result["train"].key != other["train"].key


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [
        ("x.csv", "label,text\n" + "".join(f"{'ab'[n % 2]},text number {n}\n" for n in range(40)), {}),
        ("x.tsv", "".join(f"text number {n}\t{'ab'[n % 2]}\n" for n in range(40)), {"columns": ("text=1", "label=2")}),
        ("x.jsonl", "".join(f'{{"body": "text number {n}", "class": "{"ab"[n % 2]}"}}\n' for n in range(40)), {}),
        ("x.dat", LINES, {"format": "labels"}),
    ],
)
def test_formats_give_the_same_examples(file, tmp_path, name, content, more):
    (tmp_path / name).write_text(content)
    result = labelled_dataset.read(LabelledExamples(text=(str(tmp_path / name),), **more), seed=1)
    expected = labelled_dataset.read(LabelledExamples(text=(str(file),)), seed=1)
    assert contents(result) == contents(expected) and result["test"].key == expected["test"].key


def test_own_files_and_the_parts_of_a_set_come_before_shares(file, tmp_path, monkeypatch):
    own = tmp_path / "own.txt"
    own.write_text("__label__a other text\n__label__b more of it\n")
    result = labelled_dataset.read(LabelledExamples(text=(str(file),), valid=(str(own),), test_fraction=0.0), seed=1)
    assert {name: len(split.examples) for name, split in result.items()} == {"train": 40, "valid": 2}
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    parts = {"train": sets.SplitFiles((str(file),)), "dev": sets.SplitFiles((str(own),))}
    sets.save(sets.Dataset("mine", "classification", "labels", parts))
    result = labelled_dataset.read(LabelledExamples(text=("mine",)), seed=1)
    assert {name: len(split.examples) for name, split in result.items()} == {"train": 36, "valid": 2, "test": 4}
    result = labelled_dataset.read(LabelledExamples(text=("mine:dev",), valid_fraction=0.0, test_fraction=0.0), seed=1)
    assert [example.text for example in result["train"].examples] == ["other text", "more of it"]


def test_what_is_tested_by_name(file, tmp_path, monkeypatch):
    assert len(list(labelled_dataset.read_named(str(file), LabelledExamples()))) == 40
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    parts = {"train": sets.SplitFiles((str(file),)), "test": sets.SplitFiles((str(file),))}
    sets.save(sets.Dataset("mine", "classification", "labels", parts))
    assert len(list(labelled_dataset.read_named("mine", LabelledExamples()))) == 40


def test_lines_from_python(tmp_path, file):
    name = keep_documents(LINES.splitlines(), tmp_path / "spool")
    assert contents(labelled_dataset.read(LabelledExamples(text=(name,)), 1)) == contents(
        labelled_dataset.read(LabelledExamples(text=(str(file),)), 1)
    )


def test_trees_of_the_world_are_examples_too():
    result = sets.find("world-sentiment-trees").records("valid")
    reader = ExampleReader(LabelledExamples())
    converted = reader.convert_all([next(result)], [Converter("classification")], "world")
    assert next(converted).labels[0] in "01234"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=2)), min_size=1, max_size=4))
def test_the_key_tells_content_apart(rows):
    result = [Labelled(text, tuple(labels)) for text, labels in rows]
    key = labelled_dataset.make_split("x", result).key
    assert key == labelled_dataset.make_split("y", result).key
    assert key != labelled_dataset.make_split("x", [*result, result[0]]).key
    assert key != labelled_dataset.make_split("x", [result[0]._replace(text=result[0].text + "!"), *result[1:]]).key


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "bad.txt: the file is empty"),
        ("just a text\nand another\n", "bad.txt:1: a text without a label"),
        ("__label__a one\ntwo\n", "bad.txt:2: no label"),
        ("__label__a one\n__label__b two\n", "2 examples, too few to split three ways"),
    ],
)
def test_bad_files(content, message, tmp_path):
    (tmp_path / "bad.txt").write_text(content)
    with pytest.raises(FirthError) as result:
        labelled_dataset.read(LabelledExamples(text=(str(tmp_path / "bad.txt"),)), seed=1)
    assert message in str(result.value)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LabelledExamples(text=("world-clasification",)), "did you mean 'world-classification'?"),
        (LabelledExamples(text=("no/such.txt",)), "no/such.txt"),
        (LabelledExamples(text=()), "no examples are named"),
        (LabelledExamples(text=("world-analogy",)), "task classification needs"),
    ],
)
def test_bad_names(config, message):
    with pytest.raises(FirthError) as result:
        labelled_dataset.read(config, seed=1)
    assert message in str(result.value)


def test_an_empty_label_and_bad_columns(tmp_path):
    (tmp_path / "bad.csv").write_text("text,label\na,x\nb,\n")
    with pytest.raises(FirthError, match=r"bad\.csv:3: an empty label"):
        labelled_dataset.read(LabelledExamples(text=(str(tmp_path / "bad.csv"),)), seed=1)
    with pytest.raises(FirthError, match=r"cannot read 'text'"):
        labelled_dataset.read(LabelledExamples(text=(str(tmp_path / "bad.csv"),), columns=("text",)), seed=1)
