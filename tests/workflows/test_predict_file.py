"""Batch prediction: the same as one by one, in order, whatever the format; bad lines by file and line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import firth
from firth.cli.main import app
from firth.datasets.records import Choices, Question, Row, Sentence
from firth.errors import FirthError
from firth.pipelines import file_inputs
from firth.workflows import predict_file as bulk
from firth.workflows.predict_file import Source

TEXTS = ["lovely plot", "dull film", "", "a great, fine film", "poor"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    words = {"good": ("lovely", "fine", "great"), "bad": ("awful", "dull", "poor")}
    random = np.random.default_rng(0)
    texts = []
    for number in range(90):
        label = ("good", "bad")[number % 2]
        texts.append(f"__label__{label} plot {random.integers(60)} was {random.choice(words[label])} film {number}")
    out = tmp_path_factory.mktemp("bulk") / "run"
    firth.train("naive-bayes", text=texts, out=out)
    return out


@pytest.fixture
def model(run):
    return firth.load(run)


def written(path, text):
    path.write_text(text)
    return str(path)


def predictions(model, path, form="jsonl", **more):
    return list(bulk.predict_file(model, Source(path, **more), {}, form))


def test_a_file_is_predicted_as_its_lines_are_in_their_order(model, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "INPUTS_PER_BATCH", 2)
    rows = predictions(model, written(tmp_path / "a.txt", "\n".join(TEXTS) + "\n"))
    assert [json.loads(row) for row in rows] == [model.answer(text, {}) for text in TEXTS]


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.jsonl", "".join(json.dumps({"id": "1", "review": text}) + "\n" for text in TEXTS[:2]), {}),
        ("a.csv", 'id,body of it\n1,"lovely plot"\n2,"dull film"\n', {"text": "body of it"}),
        ("a.tsv", "good\tlovely plot\nbad\tdull film\n", {"text": "2"}),
        ("a.labels", "__label__good lovely plot\n__label__bad dull film\n", {}),
        ("a.txt", "lovely plot\r\ndull film", {}),
    ],
)
def test_every_format_gives_the_same_predictions(model, tmp_path, name, content, columns):
    rows = predictions(model, written(tmp_path / name, content), columns=columns)
    assert [json.loads(row)["labels"] for row in rows] == [model.answer(text, {})["labels"] for text in TEXTS[:2]]


def test_a_table_has_a_header_once_and_a_row_for_each_label(model, tmp_path):
    path = written(tmp_path / "a.txt", "lovely\tplot\n dull\n")
    head, *rows = bulk.predict_file(model, Source(path, "text"), {"count": 2})
    assert head == "text\tlabel\tprobability" and len(rows) == 4
    assert rows[0].startswith("lovely plot\tgood\t")  # white space is one blank
    for row, (label, probability) in zip(rows[:2], model.predict("lovely\tplot", 2), strict=True):
        assert row.split("\t")[1] == label and float(row.split("\t")[2]) == pytest.approx(probability, rel=1e-5)


def test_a_bad_line_is_named_after_the_good_ones(tmp_path):
    class Even:
        """Takes even numbers."""

        def read_input(self, record, columns):
            if int(record.text) % 2:
                raise FirthError("an odd number", do="double it")
            return int(record.text)

        def answer_inputs(self, inputs, options):
            return [{"half": each // 2} for each in inputs]

    path = written(tmp_path / "numbers.txt", "2\n4\n5\n6\n")
    lines = bulk.predict_file(Even(), Source(path), {}, "jsonl")
    assert [next(lines), next(lines)] == ['{"half": 1}', '{"half": 2}']
    with pytest.raises(FirthError, match=r"numbers\.txt:3: an odd number; double it"):
        next(lines)


def test_what_cannot_be_read_or_written_is_one_line(model, tmp_path):
    table = written(tmp_path / "a.tsv", "x\ty\n1\t2\n")
    tree = written(tmp_path / "a.conllu", "1\tAda" + "\t_" * 4 + "\t0\troot\t_\t_\n\n")
    for source, form, message in (
        (Source(table), "tsv", r"a\.tsv:1: no column for the text \(there are 2 without names\); say which: --columns"),
        (Source(table, columns={"right": "1"}), "tsv", "--columns: unknown column 'right'"),
        (Source(table, columns={"text": "2"}), "conll", "--to"),
        (Source(table, columns={"text": "7"}), "tsv", "no column for the text"),
        (Source(tree), "tsv", "this is a Sentence"),
    ):
        with pytest.raises(FirthError, match=message):
            list(bulk.predict_file(model, source, {}, form))
    with pytest.raises(FirthError, match="takes no files"):
        list(bulk.predict_file(object(), Source(table), {}))


def test_records_become_inputs():
    row = ("1", "Ada", *"_" * 8)
    tree = Sentence((), (row, ("2-3", *row[1:]), ("2", "wins", *"_" * 8)))
    assert file_inputs.read_words(tree, {}) == ["Ada", "wins"]
    assert file_inputs.read_words(Row(("Ada wins",)), {}) == "Ada wins"
    assert file_inputs.read_question(Question("1", "Ada wins", "who", ()), {}) == ("who", "Ada wins")
    assert file_inputs.read_question(Row(("who", "Ada wins")), {}) == ("who", "Ada wins")
    choices = Choices("", "who", ("a", "b"))
    assert file_inputs.read_choices(choices) == choices
    assert file_inputs.read_texts(Row(("a", "b"), names=("Premise", "Hypothesis")), 2, {}) == ("a", "b")


def test_the_command_writes_a_file_only_when_complete(run, tmp_path):
    out, path = tmp_path / "out.tsv", written(tmp_path / "a.txt", "\n".join(TEXTS))
    result = CliRunner().invoke(app, ["run", str(run), "--text", path, "--out", str(out)])
    assert result.exit_code == 0 and len(out.read_text().splitlines()) == 1 + len(TEXTS)
    shown = CliRunner().invoke(app, ["run", str(run), "--text", path])
    assert shown.output == out.read_text()
    bad = tmp_path / "bad.tsv"
    missing = tmp_path / "none.tsv"
    bad.write_text("x\ty\n1\t2\n")
    assert CliRunner().invoke(app, ["run", str(run), "--text", str(bad), "--out", str(missing)]).exit_code != 0
    assert not Path(missing).exists()
