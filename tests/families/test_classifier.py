"""fastText's classifier as runs: learning, exact repetition, going on after a stop, scores, bad input."""

from __future__ import annotations

import os
import re
import signal
from itertools import islice

import numpy as np
import pytest

import firth
from firth.api import choose
from firth.data.records import Labelled
from firth.data.sets import find
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.training.guard import Interrupted
from firth.vectors.opening import open_vectors

GOODS, BADS = ("lovely", "Great", "fine"), ("awful", "boring", "poor")


def lines(count=300, seed=0):
    """Reviews with their labels before them."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        label, words = ("good", GOODS) if random.random() < 0.6 else ("bad", BADS)
        middle = " ".join(random.choice(["the", "plot", "film", "was", "it", "so"], random.integers(1, 8)))
        found.append(f"__label__{label} {middle} {random.choice(words)}!")
    return found


def trained(out, text=None, **more):
    settings = {"method.width": 8, **more.pop("settings", {})}
    return firth.train("fasttext-classifier:tiny", text=text or lines(), out=out, settings=settings, **more)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run") / "run", deterministic=True)


def test_it_learns_and_says_so(model):
    assert model.predict(["A LOVELY film", "so boring!!"], count=2, threshold=0.01)[0][0][0] == "good"
    assert [found[0][0] for found in model.predict(["it was great", "it was awful"])] == ["good", "bad"]
    scores = {score["name"]: score["value"] for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores["accuracy"] == 1.0 and scores["macro_f1"] == 1.0
    assert model.labels == ("good", "bad") and "lovely" in model.vectors
    assert model.hint.startswith("firth run") and "lovely" in (model.run.path / "report.html").read_text()


def test_loading_gives_the_same_model(model):
    again = firth.load(model.run.path)
    texts = ["lovely", "unheard of", ""]
    assert again.predict(texts, count=2) == model.predict(texts, count=2)
    assert [score.to_dict() for score in again.evaluate()] == [
        s for s in model.run.scores() if "split:test" in s["signature"]
    ]


def test_given_examples_are_scored(model, tmp_path):
    right, wrong = Labelled("a lovely film", ("good",)), Labelled("a lovely film", ("bad",))
    told = model.evaluate([right, right, right, wrong])
    assert [score.value for score in told] == [0.75, pytest.approx((2 * 3 / 7 + 0) / 2)]
    assert all(re.match(r"tok:word/\w{8}\|guess:first\|split:given\|data:\w{8}\|firth:", s.signature) for s in told)
    several = model.evaluate([Labelled("a lovely film", ("good", "long")), right])
    assert [(score.name, score.value) for score in several[:2]] == [("precision@1", 1.0), ("recall@1", 2 / 3)]
    path = tmp_path / "other.txt"
    path.write_text("__label__good great\n__label__strange great\n")
    assert model.evaluate(str(path))[0].value == 0.5
    with pytest.raises(FirthError, match="no examples to score"):
        model.evaluate([])
    with pytest.raises(FirthError, match="unknown split 'dev'"):
        model.evaluate(split="dev")


def test_several_labels_one_by_one(tmp_path):
    text = [f"__label__long {line}" if "film" in line else line for line in lines()]
    model = trained(tmp_path / "run", text, settings={"method.predict": "ova"})
    found = {label for label, _ in model.predict("the film was lovely", count=9, threshold=0.5)[0]}
    assert found == {"long", "good"}
    scores = {score["name"]: score for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores["precision@1"]["value"] == 1.0 and scores["macro_f1"]["value"] > 0.95
    assert "guess:from/0.5" in scores["macro_f1"]["signature"] and "guess:first" in scores["recall@1"]["signature"]


@pytest.mark.parametrize("predict", ["softmax", "hierarchical", "ova"])
def test_every_way_to_predict_lowers_the_held_out_loss(predict, tmp_path):
    told = []

    class Listener(Quiet):
        def evaluation(self, entry):
            told.append((entry["split"], entry["value"]))

    trained(tmp_path / "run", settings={"method.predict": predict}, epochs=5, progress=Listener())
    losses = [value for split, value in told if split == "valid"]
    assert len(losses) == 5 and losses[-1] < 0.5 * losses[0]


def test_the_same_seed_gives_the_same_bytes_and_a_stop_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("firth.vectors.bags.JOB", 200)

    class Stopping(Quiet):
        def step(self, entry):
            if entry["step"] == 20:
                os.kill(os.getpid(), signal.SIGINT)

    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines()))
    more = {"text": str(text), "deterministic": True, "epochs": 5, "settings": {"method.word_ngrams": 3}}
    whole = trained(tmp_path / "whole", **more)
    with pytest.raises(Interrupted) as stopped:
        trained(tmp_path / "parts", progress=Stopping(), **more)
    assert whole.run.record.data["steps"] == 40 and 20 <= stopped.value.step < 40 and stopped.value.step % 8
    with pytest.raises(FirthError, match="no weights yet"):
        firth.load(tmp_path / "parts")
    kept = text.read_text()
    text.write_text(kept.replace("lovely", "nice"))
    with pytest.raises(FirthError, match="the train text has changed since this run began"):
        firth.resume(tmp_path / "parts")
    text.write_text(kept)
    parts = firth.resume(tmp_path / "parts")
    assert parts.run.weights.read_bytes() == whole.run.weights.read_bytes()
    other = trained(tmp_path / "other", seed=2, **more)
    assert other.run.weights.read_bytes() != whole.run.weights.read_bytes()


def test_an_edited_configuration_is_refused(tmp_path):
    model = trained(tmp_path / "run", epochs=1)
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"rate": 0.5', '"rate": 0.4'))
    with pytest.raises(FirthError, match="not the one these weights were trained with"):
        firth.load(model.run.path)


def test_fasttext_loads_what_it_exports(model, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    model.export(tmp_path / "model.bin")
    theirs = fasttext.load_model(str(tmp_path / "model.bin"))
    for text in ("the film was lovely !", "boring plot", "never heard of it !"):
        found = dict(model.predict(text, count=2)[0])
        told = theirs.f.predict(f"{text}\n", 2, 0.0, "strict")
        assert {label: pytest.approx(chance, abs=1e-4) for label, chance in found.items()} == {
            label.removeprefix("__label__"): chance for chance, label in told
        }


def test_its_words_are_vectors_like_any(model):
    vectors = open_vectors(model.run.path)
    assert np.array_equal(vectors.vectors, model.vectors.vectors) and vectors.width == 8
    assert vectors.similarity("lovely", "fine") > vectors.similarity("lovely", "awful")


def test_what_firth_run_says(model):
    answer = model.answer("a great film", {"count": 2, "threshold": 0.0})
    assert answer["labels"][0][0] == "good" and model.shown(answer).endswith("\tbad")
    assert model.answer("a great film", {"threshold": 0.9})["labels"][0][0] == "good"
    with pytest.raises(FirthError, match="this model has no --length; it takes --count, --threshold"):
        model.answer("a great film", {"length": 3})


def test_the_world_is_learned_in_seconds(tmp_path):
    found = islice(find("world-classification").records("train"), 4000)
    text = [f"__label__{record.labels[0]} {' '.join(record.text.split())}" for record in found]
    model = trained(tmp_path / "run", text, epochs=5)
    scores = {score["name"]: score["value"] for score in model.run.scores() if "split:test" in score["signature"]}
    assert len(model.labels) == 3 and scores["accuracy"] > 0.98 and scores["macro_f1"] > 0.95


@pytest.mark.parametrize("preset", ["small", "tiny", "large"])
def test_a_few_lines_are_enough(preset, tmp_path):
    text = [
        "__label__a one two",
        "__label__b two three",
        "__label__a one",
        "__label__b three",
        "__label__a",
        "__label__b x",
    ]
    settings = {"data.valid_share": 0.0, "data.test_share": 0.0}
    model = firth.train(f"fasttext-classifier:{preset}", text=text, out=tmp_path / "run", settings=settings)
    assert np.isfinite(model.vectors.vectors).all() and len(model.predict(["one", ""])[1]) == 1


def test_rare_and_unknown_words_have_runs_and_parts(tmp_path):
    settings = {"method.word_ngrams": 2, "method.least_part": 2, "method.most_part": 3, "tokenizer.min_count": 30}
    model = trained(tmp_path / "run", settings=settings)
    assert "boring" in model.vectors and "xyzzy" not in model.vectors.words
    assert model.predict("borings")[0][0][0] == "bad"  # by its parts


@pytest.mark.parametrize("tokenizer", ["byte-bpe", "char", "wordpiece"])
def test_other_tokens_than_words(tokenizer, tmp_path):
    settings = {"tokenizer.model": tokenizer, "tokenizer.size": 400, "method.word_ngrams": 3}
    model = trained(tmp_path / "run", settings=settings)
    assert model.predict("the film was awful ß")[0][0][0] == "bad"


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (["__label__a one"] * 9, {}, "1 label in the training examples (a); give texts of at least two labels"),
        (["one two"] * 9, {}, "Python documents:1: no label"),
        ([], {}, "no examples in it; give a file with examples"),
        (None, {"method.width": 0}, "method.width = 0: must be at least 1"),
        (None, {"method.least_part": 4, "method.most_part": 2}, "parts of 4 to 2 characters"),
        (None, {"method.predict": "guess"}, "not one of softmax, hierarchical, ova"),
        (None, {"data.valid_share": 0.5, "data.test_share": 0.5}, "leave nothing to train on"),
    ],
)
def test_bad_input_is_one_line(text, settings, message, tmp_path):
    with pytest.raises(FirthError) as found:
        trained(tmp_path / "run", lines() if text is None else text or iter(()), settings=settings)
    assert message in str(found.value) and "\n" not in str(found.value)
    assert not (tmp_path / "run").exists()


def test_it_has_no_plan_and_no_documents():
    with pytest.raises(FirthError, match="--plan is for neural models"):
        firth.plan(choose("fasttext-classifier"))
    with pytest.raises(FirthError, match="has no setting 'document'"):
        choose("fasttext-classifier", short={"document": "line"})
