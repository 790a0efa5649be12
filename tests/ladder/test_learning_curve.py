"""Learning curves: nested fractions, one test split, resuming, and a power law that holds for made-up scores."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import firth
from firth import api
from firth.config.schema import TaskExamples
from firth.datasets import labelled_dataset
from firth.datasets.records import Labelled
from firth.errors import FirthError
from firth.ladder import learning_curve as curves
from firth.ladder.learning_curve import summarise
from firth.metrics.power_law import PowerLaw
from firth.report.learning_curve_page import learning_curve_page
from firth.runs.curve_folder import CurveRun

WORDS = ["good", "nice", "fine", "bad", "poor", "sad"]
TEXTS = [f"a {word} thing number {number}" for number in range(60) for word in WORDS]
ROWS = [(text, "pos" if text.split()[1] in WORDS[:3] else "neg") for text in TEXTS]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "films.tsv"
    path.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS))
    return path


# --- fractions ------------------------------------------------------------------------------------------------------


def test_fractions_are_nested_and_have_every_label():
    examples = [Labelled(text, (label,)) for text, label in ROWS] + [Labelled("odd", ("rare",))]
    parts = {f: labelled_dataset.train_part(examples, f, 0) for f in (1 / 16, 1 / 4, 1 / 2, 1.0)}
    sizes = [len(part) for part in parts.values()]
    assert sizes == [round(f * len(examples)) for f in parts] and parts[1.0] == examples
    for small, large in zip(list(parts.values()), list(parts.values())[1:], strict=False):
        assert {*small} <= {*large}
    for part in parts.values():
        share = sum(example.labels == ("pos",) for example in part) / len(part)
        assert share == pytest.approx(0.5, abs=0.05)
    assert labelled_dataset.train_part(examples, 0.25, 1) != parts[1 / 4]
    assert labelled_dataset.train_part(examples, 1e-9, 0) and parts[1 / 2] == sorted(parts[1 / 2], key=examples.index)


def test_validation_and_test_stay(table):
    config = TaskExamples(text=(str(table),), tasks=("classification",))
    whole = labelled_dataset.read(config, 1)
    part = labelled_dataset.read(replace(config, train_fraction=0.25, train_subset=3), 1)
    assert part["test"].key == whole["test"].key and part["valid"].key == whole["valid"].key
    assert len(part["train"].examples) == round(0.25 * len(whole["train"].examples))


# --- curves ---------------------------------------------------------------------------------------------------------


def test_a_curve_of_a_classifier_is_the_runs_scores(table, tmp_path):
    curve = firth.learning_curve("naive-bayes", text=table, out=tmp_path / "curve")
    assert [point.runs for point in curve.points] == [3, 3, 3, 2, 1, 0, 0]
    last = curve.trained[-1]
    model = firth.load(tmp_path / "curve" / "runs" / "1.0000-0")
    assert last.score == model.evaluate(split="test")[0].value
    assert last.examples == len(model.load_examples(None, "train").examples)
    assert [point.examples for point in curve.points[-2:]] == [2 * last.examples, 4 * last.examples]
    assert all(point.low <= point.score <= point.high for point in curve.trained)
    page = (tmp_path / "curve" / "report.html").read_text()
    assert "</svg>" in page and "extrapolated" in page and "<script" not in page


def test_a_curve_goes_on_where_it_stopped(table, tmp_path, monkeypatch):
    whole = firth.learning_curve("naive-bayes", text=table, out=tmp_path / "whole")
    trainings = []
    train = api.train_config

    def stop_at_the_fourth(*arguments, **named):
        trainings.append(arguments)
        if len(trainings) == 4:
            raise KeyboardInterrupt
        return train(*arguments, **named)

    monkeypatch.setattr(curves.api, "train_config", stop_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        firth.learning_curve("naive-bayes", text=table, out=tmp_path / "stopped")
    resumed = firth.learning_curve("naive-bayes", text=table, out=tmp_path / "stopped")
    assert len(trainings) == 4 + 9  # the three that were done are not trained again
    scores = [[(p.examples, p.score, p.low, p.high) for p in each.points] for each in (whole, resumed)]
    assert scores[0] == scores[1]


def test_curves_of_taggers_and_of_question_answering(tmp_path):
    sentences = [[(name, "B-PER"), ("sees", "O"), (thing, "O")] for name in ("Ann", "Bob", "Eve", "Tom") * 10
                 for thing in ("rain", "houses", "rivers")]  # fmt: skip
    curve = firth.learning_curve("most-frequent-tag", text=sentences, out=tmp_path / "tags", fractions=(0.1, 0.5, 1))
    assert curve.metric.name == "chunk F1" and curve.item == "sentence" and curve.trained[-1].score == 1.0
    contexts = [f"{name} is a {job} in {city} ." for name in ("Ann", "Bob", "Eve") for job in ("cook", "nurse")
                for city in ("Rome", "Oslo", "Bern", "Lima", "Cork")]  # fmt: skip
    paragraphs = []
    for number, context in enumerate(contexts):
        answer = {"text": context.split()[0], "answer_start": 0}
        paragraphs.append({"context": context, "qas": [{"id": str(number), "question": "Who ?", "answers": [answer]}]})
    (tmp_path / "squad.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    curve = firth.learning_curve(
        "bert-qa:tiny", text=tmp_path / "squad.json", out=tmp_path / "qa", budget="2 steps", threads=1,
        fractions=(0.5, 1), seeds=1,
    )  # fmt: skip
    assert curve.metric.name == "answer F1" and curve.item == "question" and len(curve.points) == 4
    model = firth.load(tmp_path / "qa" / "runs" / "1.0000-0")
    scores = {score.name: score.value for score in model.evaluate(split="test")}
    assert 100 * curve.trained[-1].score == pytest.approx(scores["f1"])


def made_up(law, sizes, runs=4, items=4000):
    """Runs whose test items are right with the probability that the law says."""
    random = np.random.default_rng(0)
    for size in sizes:
        for subset in range(runs):
            right = random.random(items) > float(law(size))
            counts = tuple((float(each), 1.0) for each in right)
            yield CurveRun(size / sizes[-1], subset, size, 1.0, "accuracy", counts)


def test_what_is_extrapolated_is_what_happens(tmp_path):
    law = PowerLaw(0.05, 1.5, 0.5)
    named = api.resolve_config("naive-bayes")
    curve = summarise(tmp_path, named, list(made_up(law, (100, 200, 400, 800, 1600))), "text")
    twice, four = curve.points[-2:]
    for point, examples in ((twice, 3200), (four, 6400)):
        truth = 1 - float(law(examples))
        assert point.examples == examples and point.low <= truth <= point.high
        assert point.score == pytest.approx(truth, abs=0.01)
    assert twice.gain == pytest.approx(float(law(1600) - law(3200)), abs=0.004)
    assert twice.gain_low <= twice.gain <= twice.gain_high and four.gain > twice.gain > 0
    assert "twice as many examples (3,200)" in curve.sentence and "twice" in learning_curve_page(curve)


# --- refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("lstm-lm", {}, "a learning curve is of classifiers, taggers and question answering"),
        ("naive-bayes", {"data.test_fraction": 0}, "no test examples; give some with --test"),
        ("naive-bayes", {"data.text": "short.tsv"}, "give at least 128"),
    ],
)
def test_what_has_no_curve(table, preset, settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("short.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in ROWS[:40]))
    text = {} if "data.text" in settings or preset == "lstm-lm" else {"text": table}
    with pytest.raises(FirthError, match=message):
        firth.learning_curve(preset, out=tmp_path / "curve", settings=settings, **text)


def test_another_curve_is_in_the_folder(table, tmp_path):
    firth.learning_curve("naive-bayes", text=table, out=tmp_path / "curve", fractions=(0.5, 1), seeds=1)
    with pytest.raises(FirthError, match="another learning curve is in this folder"):
        firth.learning_curve("naive-bayes", text=table, out=tmp_path / "curve", fractions=(0.25, 1), seeds=1)
    with pytest.raises(FirthError, match="at least two fractions"):
        firth.learning_curve("naive-bayes", text=table, out=tmp_path / "other", fractions=(1,))
    (tmp_path / "curve" / "results" / "1.0000-0.json").write_text("{}")
    with pytest.raises(FirthError, match=r"1.0000-0.json: damaged"):
        firth.learning_curve("naive-bayes", text=table, out=tmp_path / "curve", fractions=(0.5, 1), seeds=1)


def test_the_command(table, tmp_path):
    command = [sys.executable, "-m", "firth", "train", "naive-bayes", "--text", str(table), "--learning-curve"]
    done = subprocess.run([*command, "--out", str(tmp_path / "c")], capture_output=True, text=True, check=True)
    assert "extrapolated" in done.stdout and "twice as many examples" in done.stdout
    refused = subprocess.run([*command[:4], "ngram-lm", "--learning-curve"], capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
