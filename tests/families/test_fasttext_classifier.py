"""fastText classifiers as runs: learning, exact resume, scores, bad input."""

from __future__ import annotations

import os
import re
import signal
from itertools import islice

import numpy as np
import pytest

import firth
from firth.api import resolve_config
from firth.datasets.records import Labelled
from firth.datasets.sets import find
from firth.embeddings.loading import load_vectors
from firth.errors import FirthError
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet

GOODS, BADS = ("lovely", "Great", "fine"), ("awful", "boring", "poor")


def lines(count=300, seed=0):
    """Reviews with their labels before them."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        label, words = ("good", GOODS) if random.random() < 0.6 else ("bad", BADS)
        middle = " ".join(random.choice(["the", "plot", "film", "was", "it", "so"], random.integers(1, 8)))
        texts.append(f"__label__{label} {middle} {random.choice(words)}!")
    return texts


def trained(out, text=None, **more):
    settings = {"method.width": 8, **more.pop("settings", {})}
    return firth.train("fasttext-classifier:tiny", text=text or lines(), out=out, settings=settings, **more)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run") / "run", deterministic=True)


def test_it_learns_and_has_good_scores(model):
    assert model.predict(["A LOVELY film", "so boring!!"], count=2, threshold=0.01)[0][0][0] == "good"
    assert [labels[0][0] for labels in model.predict(["it was great", "it was awful"])] == ["good", "bad"]
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
    scores = model.evaluate([right, right, right, wrong])
    assert [score.value for score in scores] == [0.75, pytest.approx((2 * 3 / 7 + 0) / 2)]
    assert all(re.match(r"tok:word/\w{8}\|guess:first\|split:given\|data:\w{8}\|firth:", s.signature) for s in scores)
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
    model = trained(tmp_path / "run", text, settings={"method.loss": "one-vs-all"})
    labels = {label for label, _ in model.predict("the film was lovely", count=9, threshold=0.5)}
    assert labels == {"long", "good"}
    scores = {score["name"]: score for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores["precision@1"]["value"] == 1.0 and scores["macro_f1"]["value"] > 0.95
    assert "guess:from/0.5" in scores["macro_f1"]["signature"] and "guess:first" in scores["recall@1"]["signature"]


@pytest.mark.parametrize("loss", ["softmax", "hierarchical-softmax", "one-vs-all"])
def test_every_loss_falls_on_held_out_text(loss, tmp_path):
    values = []

    class Listener(Quiet):
        def evaluation(self, entry):
            values.append((entry["split"], entry["value"]))

    trained(tmp_path / "run", settings={"method.loss": loss}, epochs=5, progress=Listener())
    losses = [value for split, value in values if split == "valid"]
    assert len(losses) == 5 and losses[-1] < 0.5 * losses[0]


def test_the_same_seed_gives_the_same_bytes_and_an_interruption_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("firth.embeddings.fasttext_supervised.CHUNK_WORDS", 200)

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
    content = text.read_text()
    text.write_text(content.replace("lovely", "nice"))
    with pytest.raises(FirthError, match="the train text has changed since this run began"):
        firth.resume(tmp_path / "parts")
    text.write_text(content)
    parts = firth.resume(tmp_path / "parts")
    assert parts.run.weights.read_bytes() == whole.run.weights.read_bytes()
    other = trained(tmp_path / "other", seed=2, **more)
    assert other.run.weights.read_bytes() != whole.run.weights.read_bytes()


def test_an_edited_configuration_is_refused(tmp_path):
    model = trained(tmp_path / "run", epochs=1)
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"learning_rate": 0.5', '"learning_rate": 0.4'))
    with pytest.raises(FirthError, match="not the one these weights were trained with"):
        firth.load(model.run.path)


def test_fasttext_loads_what_it_exports(model, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    model.export(tmp_path / "model.bin")
    theirs = fasttext.load_model(str(tmp_path / "model.bin"))
    for text in ("the film was lovely !", "boring plot", "never heard of it !"):
        labels = dict(model.predict(text, count=2))
        expected = theirs.f.predict(f"{text}\n", 2, 0.0, "strict")
        assert {label: pytest.approx(value, abs=1e-4) for label, value in labels.items()} == {
            label.removeprefix("__label__"): value for value, label in expected
        }


def test_its_words_are_vectors_like_any(model):
    vectors = load_vectors(model.run.path)
    assert np.array_equal(vectors.vectors, model.vectors.vectors) and vectors.width == 8
    assert vectors.similarity("lovely", "fine") > vectors.similarity("lovely", "awful")


def test_the_command_prints_labels(model):
    answer = model.answer("a great film", {"count": 2, "threshold": 0.0})
    assert answer["labels"][0][0] == "good" and model.format_answer(answer).endswith("\tbad")
    assert model.answer("a great film", {"threshold": 0.9})["labels"][0][0] == "good"
    with pytest.raises(FirthError, match="this model has no --max-length; it takes --count, --threshold"):
        model.answer("a great film", {"max_length": 3})


def test_the_world_is_learned_in_seconds(tmp_path):
    records = islice(find("world-classification").records("train"), 4000)
    text = [f"__label__{record.labels[0]} {' '.join(record.text.split())}" for record in records]
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
    settings = {"data.valid_fraction": 0.0, "data.test_fraction": 0.0}
    model = firth.train(f"fasttext-classifier:{preset}", text=text, out=tmp_path / "run", settings=settings)
    assert np.isfinite(model.vectors.vectors).all() and len(model.predict(["one", ""])[1]) == 1


def test_rare_and_unknown_words_have_word_ngrams_and_character_ngrams(tmp_path):
    settings = {"method.word_ngrams": 2, "method.min_n": 2, "method.max_n": 3, "tokenizer.min_count": 30}
    model = trained(tmp_path / "run", settings=settings)
    assert "boring" in model.vectors and "xyzzy" not in model.vectors.words
    assert model.predict("borings")[0][0] == "bad"  # by its character n-grams


@pytest.mark.parametrize("tokenizer", ["byte-bpe", "char", "wordpiece"])
def test_other_tokens_than_words(tokenizer, tmp_path):
    settings = {"tokenizer.model": tokenizer, "tokenizer.vocabulary_size": 400, "method.word_ngrams": 3}
    model = trained(tmp_path / "run", settings=settings)
    assert model.predict("the film was awful ß")[0][0] == "bad"


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (["__label__a one"] * 9, {}, "1 label in the training examples (a); give texts of at least two labels"),
        (["one two"] * 9, {}, "Python documents:1: no label"),
        ([], {}, "no examples in it; give a file with examples"),
        (None, {"method.width": 0}, "method.width = 0: must be at least 1"),
        (None, {"method.min_n": 4, "method.max_n": 2}, "character n-grams of 4 to 2 characters"),
        (None, {"method.loss": "guess"}, "not one of softmax, hierarchical-softmax, one-vs-all"),
        (None, {"data.valid_fraction": 0.5, "data.test_fraction": 0.5}, "leave nothing to train on"),
    ],
)
def test_bad_input_is_one_line(text, settings, message, tmp_path):
    with pytest.raises(FirthError) as error:
        trained(tmp_path / "run", lines() if text is None else text or iter(()), settings=settings)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_it_has_no_plan_and_no_documents():
    with pytest.raises(FirthError, match="--plan is for neural models"):
        firth.plan(resolve_config("fasttext-classifier"))
    with pytest.raises(FirthError, match="has no setting 'document'"):
        resolve_config("fasttext-classifier", short={"document": "line"})
