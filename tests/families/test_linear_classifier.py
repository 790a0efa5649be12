"""Linear classifiers as runs: learning, the same bytes after an interruption, scores, explanations, bad input."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import firth
from firth.datasets.records import Labelled
from firth.errors import FirthError
from firth.linear.linear_model import LinearModel
from firth.runs.progress import Quiet
from firth.runs.summary import summary

GOODS, BADS = ("lovely", "Great", "fine"), ("awful", "boring", "poor")
METHODS = ("naive-bayes", "logistic-regression", "nbsvm")


class Recorder(Quiet):
    """Records what is said."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


def lines(count=300, seed=0):
    """Reviews after their labels."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        label, words = ("good", GOODS) if random.random() < 0.6 else ("bad", BADS)
        middle = " ".join(random.choice(["the", "plot", "film", "was", "it", "so"], random.integers(1, 8)))
        texts.append(f"__label__{label} {middle} {random.choice(words)}!")
    return texts


def pairs(count=200, seed=0):
    """Pairs with scores: how many words they share."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{n}" for n in range(30)])
    rows = []
    for _ in range(count):
        left, right = random.choice(words, 5, False), random.choice(words, 5, False)
        shared = random.integers(0, 6)
        right[:shared] = left[:shared]
        rows.append(f"{' '.join(left)}\t{' '.join(right)}\t{len(set(left) & set(right))}")
    return rows


PAIR_COLUMNS = {"data.columns": "left=1,right=2,score=3"}


def trained(out, preset="logistic-regression", text=None, **more):
    return firth.train(preset, text=lines() if text is None else text, out=out, **more)


@pytest.fixture(scope="module", params=METHODS)
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run") / "run", request.param)


def test_it_learns_and_has_good_scores(model):
    assert [labels[0][0] for labels in model.predict(["it was great", "a BORING film"])] == ["good", "bad"]
    scores = {score["name"]: score["value"] for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores == {"accuracy": 1.0, "macro_f1": 1.0} and model.labels == ("good", "bad")
    probabilities = model.predict_proba(["lovely", "awful", "xyzzy"])
    assert np.allclose(probabilities.sum(1), 1) and probabilities[0, 0] > 0.8 > 0.2 > probabilities[1, 0]
    assert model.score(["it was great", "so poor"], ["good", "good"]) == 0.5
    assert "lovely" in (model.run.path / "report.html").read_text() and model.hint.startswith("firth run")
    assert summary(model.run.path)["state"] == "done"


def test_loading_gives_the_same_model_and_predictions_do_not_depend_on_the_others(model):
    again, texts = firth.load(model.run.path), ["lovely", "unheard of", "", "the plot was so fine"]
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert np.array_equal(model.predict_proba(texts)[2:], np.stack([model.predict_proba(text) for text in texts[2:]]))
    assert [score.to_dict() for score in again.evaluate()] == [
        score for score in model.run.scores() if "split:test" in score["signature"]
    ]


def test_the_explanation_sums_to_the_score(model):
    text = "the film was lovely but the plot boring"
    matrix = model.features.transform([text])
    scores = model.model.scores(matrix)[0]
    for number, label in enumerate(model.labels):
        rows = model.explain(text, label, count=99)
        assert sum(row.weight for row in rows) == pytest.approx(scores[number] - scores.mean(), abs=1e-5)
        words = [row.feature for row in rows if abs(row.weight) > 0.3]
        assert {"lovely", "boring"} <= {*words}
    assert any(word in model.most_informative("good", 3)[0].feature for word in ("great", "lovely", "fine"))
    with pytest.raises(FirthError, match="unknown label 'goof'; did you mean 'good'"):
        model.explain(text, "goof")


def test_answers_of_the_command_line(model):
    answer = model.answer("so lovely", {"count": 2, "explain": True})
    assert [label for label, _ in answer["labels"]] == ["good", "bad"] and "lovely" in dict(answer["explanation"])
    assert model.format_answer(answer).splitlines()[2].startswith("  +")
    unknown = model.answer("xyzzy qux", {})
    assert unknown["note"] == "no word of it is known" and model.format_answer(unknown).endswith("known)")
    features = model.answer("", {"features": True, "count": 4})["features"]
    assert set(features) == {"good", "bad"} and len(features["bad"]) == 4
    assert len(model.format_answer({"features": features}).splitlines()) == 8
    json.dumps([answer, features])
    with pytest.raises(FirthError, match="this model has no --beam"):
        model.answer("x", {"beam": 3})


def test_given_examples_are_scored_and_labels_unseen_in_training_are_named(model, tmp_path):
    right, wrong = Labelled("a lovely film", ("good",)), Labelled("a lovely film", ("bad",))
    assert model.evaluate([right, right, right, wrong])[0].value == 0.75
    path = tmp_path / "other.txt"
    path.write_text("__label__good great\n__label__strange great\n")
    (accuracy, _) = model.evaluate(str(path))
    assert accuracy.value == 0.5 and accuracy.note == "1 of the labels is not in the training examples: strange"


# --- the same bytes -------------------------------------------------------------------------------------------------


def files_of(run):
    return {name: (run / name).read_bytes() for name in ("model.safetensors", "config.json", "scores.json")}


def test_an_interrupted_run_starts_again_with_the_same_result(tmp_path, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines()))
    trained(tmp_path / "whole", text=str(text))
    for function in ("write", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(LinearModel, function, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                trained(tmp_path / function, text=str(text))
        firth.resume(tmp_path / function)
        assert files_of(tmp_path / function) == files_of(tmp_path / "whole")
    weights = tmp_path / "write" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(FirthError, match="not a file with a linear model, or truncated"):
        firth.load(tmp_path / "write")
    firth.resume(tmp_path / "write")
    assert files_of(tmp_path / "write") == files_of(tmp_path / "whole")
    text.write_text("\n".join(lines(seed=1)))
    with pytest.raises(FirthError, match="text has changed"):
        firth.resume(tmp_path / "write")


def test_any_number_of_threads_gives_the_same_bytes(tmp_path):
    models = [trained(tmp_path / str(n), settings={"method.threads": n}) for n in (1, 3)]
    texts = ["the plot was so fine", "boring"]
    assert np.array_equal(*(model.predict_proba(texts) for model in models))


def test_no_torch_is_needed(tmp_path):
    code = (
        "import sys, firth\n"
        'text = [f\'__label__{"ab"[n % 2]} {"xy"[n % 2]} z\' for n in range(40)]\n'
        "firth.train('logistic-regression', text=text, out=sys.argv[1])\n"
        "model = firth.load(sys.argv[1])\n"
        "model.evaluate(), model.predict('x'), model.explain('x')\n"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # too little to be worth compiling for
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=True, env=plain)


# --- problem types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", METHODS)
def test_several_labels_one_by_one(preset, tmp_path):
    text = [f"__label__long {line}" if "film" in line else line for line in lines()]
    model = trained(tmp_path / "run", preset, text, settings={"problem_type": "multi-label"})
    labels = {label for label, _ in model.predict("the film was lovely", count=9, threshold=0.5)}
    assert labels == {"long", "good"}
    scores = {score["name"]: score for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores["precision@1"]["value"] == 1.0 and scores["macro_f1"]["value"] > 0.95
    assert "guess:from/0.5" in scores["macro_f1"]["signature"]


def test_ridge_regression_of_pairs(tmp_path):
    model = trained(tmp_path / "run", "ridge-regression", pairs(), settings=PAIR_COLUMNS)
    alike, other = model.predict([("w1 w2 w3", "w1 w2 w3"), ("w1 w2 w3", "w7 w8 w9")])
    assert alike > other + 2
    scores = {score["name"]: score["value"] for score in model.run.scores() if "split:test" in score["signature"]}
    assert scores["spearman"] > 0.9 and scores["pearson"] > 0.9
    pair = ("w1 w2 w3", "w1 w9 w3")
    assert sum(row.weight for row in model.explain(pair, count=99)) == pytest.approx(model.predict(pair), abs=1e-5)
    answer = model.answer("w1 w2\tw1 w2", {"explain": True})
    assert model.format_answer(answer).startswith(f"{answer['value']:.4f}\n")
    with pytest.raises(FirthError, match="values, not probabilities"):
        model.predict_proba(pair)
    with pytest.raises(FirthError, match="this model takes text pairs; give two texts"):
        model.predict("w1 w2")


def test_pairs_with_labels(tmp_path):
    rows = [f"{left}\t{right}\t{'same' if int(score) > 2 else 'other'}" for left, right, score in
            (row.split("\t") for row in pairs(400))]  # fmt: skip
    model = trained(tmp_path / "run", text=rows, settings={"data.columns": "left=1,right=2,label=3"})
    assert model.predict(("w1 w2 w3 w4 w5", "w1 w2 w3 w4 w5"))[0][0] == "same"
    assert model.answer("w1 w2 w3\tw7 w8 w9", {})["labels"][0][0] == "other"


def test_the_majority_class_is_the_baseline(tmp_path):
    model = trained(tmp_path / "run", "majority-class")
    (label, probability), _ = model.predict("awful", count=2)
    counts = [example.labels[0] for example in model.load_examples(None, "train").examples]
    assert label == "good" and probability == pytest.approx(counts.count("good") / len(counts))


# --- settings -------------------------------------------------------------------------------------------------------


def test_refitting_uses_the_validation_examples(tmp_path):
    text = [*lines(150), "__label__bad dire", "__label__bad dire dire"]
    settings = {"data.valid_fraction": 0.5, "data.test_fraction": 0.0}
    plain = trained(tmp_path / "plain", text=text, settings=settings)
    model = trained(tmp_path / "run", text=text, settings={**settings, "refit": True})
    assert model.features.size > plain.features.size and model.run.scores() == []
    with pytest.raises(FirthError, match="trained on the validation examples too"):
        model.evaluate(split="valid")


def test_rare_labels_weigh_more_if_they_are_balanced(tmp_path):
    text = [f"__label__{'rare' if n % 20 == 0 else 'usual'} word {'x' if n % 4 == 0 else 'y'}" for n in range(400)]
    settings = {"method.l2": "1", "calibration": "none"}
    plain, balanced = (
        trained(tmp_path / kind, text=text, settings={**settings, "method.class_weights": kind})
        for kind in ("none", "balanced")
    )
    assert plain.predict("word x")[0][0] == "usual" and balanced.predict("word x")[0][0] == "rare"


def test_hashed_features(tmp_path):
    model = trained(tmp_path / "run", settings={"features.kind": "hashed-ngrams", "features.word_ngrams": 2})
    assert model.evaluate()[0].value == 1.0 and model.explain("lovely")[0].feature == "lovely"
    assert np.array_equal(firth.load(tmp_path / "run").predict_proba(["so fine"]), model.predict_proba(["so fine"]))
    with pytest.raises(FirthError, match="hashed features have no names"):
        model.most_informative("good")


@pytest.mark.parametrize("tokenizer", ["byte-bpe", "char", "wordpiece"])
def test_other_tokens_than_words(tokenizer, tmp_path):
    model = trained(tmp_path / "run", tokenizer=tokenizer, vocab_size=400, word_ngrams=4)
    assert model.predict("the film was awful ß")[0][0] == "bad" and model.most_informative("bad")


# --- bad input ------------------------------------------------------------------------------------------------------


def test_a_label_of_one_text_and_one_of_none_are_named(tmp_path):
    files = {"train": [*lines(60), "__label__odd strange"], "valid": [*lines(20), "__label__new film"]}
    for name, texts in files.items():
        (tmp_path / name).write_text("\n".join(texts))
    recorder = Recorder()
    model = firth.train("naive-bayes", text=str(tmp_path / "train"), valid=str(tmp_path / "valid"),
                        test=str(tmp_path / "valid"), out=tmp_path / "run", progress=recorder)  # fmt: skip
    assert "note: 1 label has one training text only (odd), too few to learn from" in recorder.lines
    unseen = "note: 1 label has no training text (new), and cannot be right in valid"
    assert unseen in recorder.lines and model.evaluate()[0].note.endswith("new")


@pytest.mark.parametrize(
    ("preset", "text", "settings", "message"),
    [
        ("nbsvm", ["__label__a one"] * 9, {}, "1 label in the training examples (a); give texts of"),
        ("nbsvm", ["one two"] * 9, {}, "Python documents:1: no label"),
        ("nbsvm", [], {}, "no examples in it; give a file with examples"),
        ("nbsvm", [*lines(), "__label__good __label__long x"], {}, "a text with 2 labels (good, long); set"),
        ("nbsvm", None, {"method.l2": "0"}, "method.l2 = 0.0: must be above 0"),
        ("nbsvm", None, {"data.valid_fraction": 0.0}, "no validation texts to choose among several penalties"),
        ("nbsvm", None, {"features.word_ngrams": 0}, "neither word n-grams nor character n-grams"),
        ("naive-bayes", None, {"method.event_model": "bernoulli", "features.weighting": "counts"}, "only presence and"),
        ("ridge-regression", ["a\tb\tc"] * 9, PAIR_COLUMNS, "score 'c' is not a number"),
        ("ridge-regression", None, {}, "task similarity needs Pair or rows with columns left, right, score"),
        ("nbsvm", pairs(), {**PAIR_COLUMNS, "data.tasks": "similarity"}, "pairs without a label; train ridge"),
        ("nbsvm", ["a\tb"] * 9, {}, "no column 'text' (there are 2 without names)"),
    ],
)
def test_bad_input_is_one_line(preset, text, settings, message, tmp_path):
    with pytest.raises(FirthError) as error:
        trained(tmp_path / "run", preset, iter(()) if text == [] else text, settings=settings)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run" / "model.safetensors").exists()
