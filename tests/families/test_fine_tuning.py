"""Fine-tuning: classifiers and sentence encoders as runs, exact resume, initialisation from a pre-trained run."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
import torch

import firth
from firth.api import export_model
from firth.datasets.records import Labelled, Pair
from firth.errors import FirthError
from firth.models.build import build
from firth.presets import PRESETS
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.training.checkpoint import read_tensors
from firth.types import Sizes

GOODS, BADS = ("lovely", "great", "fine"), ("awful", "boring", "poor")
SMALL = {"backbone.width": 16, "backbone.depth": 1, "backbone.heads": 2, "backbone.init_std": 0.1}
SMALL |= {"tokenizer.vocabulary_size": 300, "train.checkpoint_every": 1000}
QUICK = {**SMALL, "batching.length": 16, "train.schedule.warmup_steps": 5, "train.optimizer.learning_rate": 0.01}


def reviews(count=200, seed=0):
    """Texts with their labels."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        label, words = ("good", GOODS) if random.random() < 0.6 else ("bad", BADS)
        middle = " ".join(random.choice(["the", "plot", "film", "was", "it", "so"], random.integers(1, 8)))
        texts.append((f"{middle} {random.choice(words)}", label))
    return texts


def table(path, rows, *names):
    path.write_text("\n".join("\t".join(row) for row in [names, *rows] if row) + "\n")
    return str(path)


def trained(out, text, preset="classifier:tiny", budget="40 steps", **more):
    settings = {**QUICK, **more.pop("settings", {})}
    return firth.train(preset, text=text, out=out, budget=budget, settings=settings, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("finetuning")


@pytest.fixture(scope="module")
def model(folder):
    return trained(folder / "labels", table(folder / "reviews.tsv", reviews(), "text", "label"))


# --- labels ---------------------------------------------------------------------------------------------------------


def test_it_learns_and_has_good_scores(model):
    assert [labels[0][0] for labels in model.predict(["it was great", "so boring"])] == ["good", "bad"]
    scores = {score["name"]: score["value"] for score in model.run.scores()}
    assert scores["accuracy"] >= 0.9 and scores["macro_f1"] >= 0.9
    assert model.labels == ("good", "bad") and "film" in (model.run.path / "report.html").read_text()
    assert model.predict_proba(["a film"]).sum() == pytest.approx(1.0, abs=1e-5)


def test_loading_gives_the_same_model_and_the_same_scores(model):
    again = firth.load(model.run.path)
    texts = ["lovely", "a film that nobody knows", ""]
    assert again.predict(texts, count=2) == model.predict(texts, count=2)
    assert [score.to_dict() for score in again.evaluate()] == model.run.scores()
    right, wrong = Labelled("a lovely film", ("good",)), Labelled("a lovely film", ("bad",))
    assert again.evaluate([right, right, right, wrong])[0].value == 0.75


def test_the_command_prints_labels_with_probabilities(model):
    answer = model.answer("it was awful", {"count": 2})
    assert [label for label, _ in answer["labels"]] == ["bad", "good"]
    assert model.format_answer(answer).splitlines()[0].endswith("\tbad")
    assert model.answer("it was awful", {"threshold": 0.5})["labels"] == answer["labels"][:1]
    with pytest.raises(FirthError, match="this model has no --temperature"):
        model.answer("x", {"temperature": 1.0})


def test_an_interruption_changes_nothing(folder, model):
    class Stopping(Quiet):
        def step(self, entry):
            if entry["step"] == 7:
                os.kill(os.getpid(), signal.SIGINT)

    text = folder / "again.tsv"
    more = {"budget": "12 steps", "settings": {"train.evaluate_every": 5}}
    whole = trained(folder / "whole", table(text, reviews(), "text", "label"), **more)
    with pytest.raises(Interrupted):
        trained(folder / "parts", str(text), progress=Stopping(), **more)
    content = text.read_text()
    text.write_text(content.replace("lovely", "nice"))
    with pytest.raises(FirthError, match="the train text has changed since this run began"):
        firth.resume(folder / "parts")
    text.write_text(content)
    parts = firth.resume(folder / "parts")
    assert torch.equal(*(each.system.head.classifier.weight for each in (whole, parts)))
    assert parts.run.scores() == whole.run.scores()
    weights = [(each.run.path / "state/step-000012/weights.safetensors").read_bytes() for each in (whole, parts)]
    assert weights[0] == weights[1]


def test_pairs_have_labels_too(folder):
    words = ["red", "green", "blue", "tall"]
    random = np.random.default_rng(1)
    sampled = [(str(random.choice(words)), str(random.choice(words))) for _ in range(300)]
    rows = [(f"the {one} cat", f"a {two} cat", "yes" if one == two else "no") for one, two in sampled]
    text = table(folder / "pairs.tsv", rows, "premise", "hypothesis", "label")
    model = trained(folder / "pairs", text, budget="5 steps")
    assert model.texts_per_example == 2 and model.labels == ("no", "yes")
    one, other = model.predict_proba([("the red cat", "a blue cat"), ("a blue cat", "the red cat")])
    assert np.allclose(model.predict_proba(("the red cat", "a blue cat")), one, atol=1e-5)  # a tuple is one pair
    assert not np.allclose(one, other)  # segments and positions tell which comes first
    label = model.answer("the red cat\ta blue cat", {})["labels"][0]
    assert label[1] == pytest.approx(float(one.max()), abs=1e-5)
    assert model.evaluate([Pair("the red cat", "a red cat", "yes")])[0].name == "accuracy"
    with pytest.raises(
        FirthError, match="this model takes sentence pairs; give two texts, with a tab between them"
    ):
        model.answer("the red cat", {})


@pytest.mark.parametrize("preset", ["bert:tiny", "transformer-lm:tiny"])
def test_a_classifier_is_initialised_from_a_pre_trained_run(folder, preset):
    """Its network and tokenizer are used, and the input layout follows from its attention mask."""
    texts = [text for text, _ in reviews(300)]
    kind = preset.partition(":")[0]
    pretrained = firth.train(
        preset, text=texts, out=folder / kind, budget="3 steps", settings={**SMALL, "batching.length": 12}
    )
    rows = table(folder / "few.tsv", reviews(100), "text", "label")
    options = {
        "init_from": pretrained.run.path,
        "budget": "1 steps",
        "learning_rate": 1e-9,
        "settings": {"train.checkpoint_every": 1000},
    }
    model = firth.train("bert-classifier:base", text=rows, out=folder / f"from-{kind}", **options)
    expected = ("last", "cls-last") if kind == "transformer-lm" else ("first", "cls-first")
    assert (model.config.head.pooling, model.config.batching.layout) == expected
    assert model.tokenizer.hash == pretrained.tokenizer.hash and model.config.backbone.width == 16
    before = read_tensors(pretrained.run.weights)
    for name, tensor in model.system.backbone.named_parameters():
        torch.testing.assert_close(tensor, before[f"backbone.{name}"], atol=1e-6, rtol=0)
    assert len(model.predict(["it was so so so so so so so so so so so so so so"])) == 1  # truncated, not refused


# --- embeddings -----------------------------------------------------------------------------------------------------


def paraphrases(count=200):
    """Pairs that name the same thing and colour in other words."""
    random = np.random.default_rng(2)
    pairs = []
    for _ in range(count):
        colour, thing = random.choice(["red", "green", "blue", "grey"]), random.choice(["cat", "bus", "hat", "key"])
        pairs.append((f"the {colour} {thing}", f"{thing} that is {colour}"))
    return pairs


@pytest.fixture(scope="module")
def encoder(folder):
    text = table(folder / "paraphrases.tsv", paraphrases())
    return trained(folder / "vectors", text, "sentence-encoder:base", "60 steps", settings={"batching.batch_size": 16})


def test_positive_pairs_are_near(encoder):
    vectors = encoder.embed(["the red cat", "cat that is red", "key that is blue"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    near, far = encoder.similarity(["the red cat"], ["cat that is red", "key that is blue"])[0]
    assert near > far + 0.2
    scores = {score["name"]: score["value"] for score in encoder.run.scores()}
    assert scores["retrieval_accuracy"] >= 0.8
    assert encoder.embed([]).shape == (0, 16)


def test_gold_similarity_is_evaluated_by_correlation(encoder, folder):
    rows = [
        (*paraphrases()[0], "5"),
        ("the red cat", "bus that is blue", "0"),
        ("the grey hat", "hat that is red", "2.5"),
    ]
    scores = encoder.evaluate(table(folder / "gold.tsv", rows, "sentence1", "sentence2", "score"))
    assert [score.name for score in scores] == ["spearman", "pearson", "retrieval_accuracy"]
    assert scores[0].value == pytest.approx(1.0) and "split:given" in scores[0].signature
    twice = [Pair("the red cat", right, score=5.0) for right in ("cat that is red", "the red cat")]
    assert encoder.evaluate([*twice, Pair("the blue key", "key that is blue", score=5.0)])[2].value == 1.0
    with pytest.raises(FirthError, match="no sentence pairs to score"):
        encoder.evaluate([])


def test_the_command_prints_vectors_and_cosines(encoder):
    answer = encoder.answer("the red cat", {"embed": True})
    np.testing.assert_allclose(answer["vector"], encoder.embed(["the red cat"])[0], rtol=1e-5)
    assert len(encoder.format_answer(answer).split()) == 16
    cosine = encoder.answer("the red cat\tcat that is red", {})["similarity"]
    assert cosine == pytest.approx(encoder.similarity(["the red cat"], ["cat that is red"]).item(), abs=1e-6)
    with pytest.raises(FirthError, match="3 texts in a line"):
        encoder.answer("a\tb\tc", {})


def test_without_pairs_a_text_is_its_own_positive(folder):
    texts = folder / "lines.txt"
    texts.write_text("\n".join(one for one, _ in paraphrases(80)) + "\n")
    model = trained(folder / "simcse", str(texts), "simcse:tiny", "3 steps", settings={"batching.batch_size": 8})
    assert [score["name"] for score in model.run.scores()] == ["uniformity"]
    with pytest.raises(FirthError, match="unknown split"):
        model.evaluate(split="dev")


@pytest.mark.parametrize("kind", ["bert", "transformer-lm"])
def test_language_models_embed_texts_too(folder, kind):
    """The mean of the hidden states, whatever else is in the batch."""
    model = firth.load(folder / kind)
    texts = ["the film was fine", "so boring"]
    together, alone = model.embed(texts), np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.shape == (2, 16) and model.embed([]).shape == (0, 16)
    assert len(model.answer("so boring", {"embed": True})["vector"]) == 16
    with pytest.raises(FirthError, match="takes at most 12 at once"):
        model.embed(["so " * 50])


def test_a_run_is_exported_for_sentence_transformers(encoder, folder):
    summary = export_model(encoder.run.path, to="huggingface", out=folder / "exported", verify=True)
    assert "BERT" in summary and "the same logits" in summary
    pooling = json.loads((folder / "exported/1_Pooling/config.json").read_text())
    assert [mode for mode, on in pooling.items() if on is True] == ["pooling_mode_mean_tokens"]
    assert json.loads((folder / "exported/sentence_bert_config.json").read_text())["max_seq_length"] == 16


@pytest.mark.slow  # its import alone takes many seconds
def test_sentence_transformers_gives_the_same_vectors(encoder, folder):
    library = pytest.importorskip("sentence_transformers")
    export_model(encoder.run.path, to="huggingface", out=folder / "for-them")
    texts = ["the red cat", "key that is blue and grey", "hat", "the " * 40]
    theirs = library.SentenceTransformer(str(folder / "for-them"), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.embed(texts), theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["bert-classifier", "gpt-classifier", "sentence-encoder", "simcse"])
def test_every_size_of_a_preset_fits_together(name):
    """Built without memory, so that large ones cost nothing."""
    sizes = PRESETS[name].sizes
    middle = "small" if name == "gpt-classifier" else "mini"
    assert {"tiny", middle, "base"} <= set(sizes)
    with torch.device("meta"):
        built = {size: build(config, Sizes(1000, labels={"label": 3})) for size, config in sizes.items()}
    counts = {size: sum(p.numel() for p in system.parameters()) for size, system in built.items()}
    assert counts["tiny"] < counts[middle] < counts["base"]


def test_a_model_without_hidden_states_has_no_embeddings(folder):
    model = firth.load(folder / "transformer-lm")
    model._engine = object()  # as n-grams have none
    with pytest.raises(FirthError, match="this model has no text embeddings"):
        model.answer("so boring", {"embed": True})
