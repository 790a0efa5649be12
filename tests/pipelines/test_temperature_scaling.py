"""Calibrated probabilities of networks: fitted on a split of its own, and what is most probable stays so."""

import random

import numpy as np
import pytest
from scipy.special import softmax

import firth
from firth.datasets import labelled_dataset
from firth.errors import FirthError
from firth.metrics.calibration import fit_temperature
from firth.pipelines.temperature_scaling import best_temperature

WORDS = {"pos": ["good", "nice", "fine"], "neg": ["bad", "poor", "sad"]}
CALIBRATED = {"data.calibration": "temperature", "data.valid_fraction": 0.3, "data.test_fraction": 0.3}
TINY = {"budget": "60 steps", "threads": 1}


def noisy_texts(count=400, wrong=0.3):
    """Texts whose label contradicts their words in a part of cases, so that certainty is always a mistake."""
    own = random.Random(1)
    for number in range(count):
        label = own.choice(["pos", "neg"])
        given = label if own.random() > wrong else {"pos": "neg", "neg": "pos"}[label]
        yield f"{given}\ta {own.choice(WORDS[label])} thing {number}"


def noisy_sentences(count=300):
    own = random.Random(2)
    for _ in range(count):
        words = [own.choice(["run", "walk", "house", "tree", "light"]) for _ in range(5)]
        tags = ["N" if word in ("house", "tree") else own.choice(["N", "V", "V"]) for word in words]
        yield [*zip(words, tags, strict=True)]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    (folder / "x.tsv").write_text("\n".join(noisy_texts()) + "\n")
    return firth.train(
        "text-cnn:tiny",
        text=folder / "x.tsv",
        out=folder / "run",
        settings={**CALIBRATED, "data.columns": "label=1,text=2"},
        **TINY,
    )


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    return firth.train("lstm-crf:tiny", text=list(noisy_sentences()), out=folder / "run", settings=CALIBRATED, **TINY)


def uncalibrated(model, answer):
    """What the model answers at a temperature of 1."""
    known, model.temperatures = model.temperatures, {}
    try:
        return answer()
    finally:
        model.temperatures = known


def test_the_split_is_its_own(classifier):
    data, seed = classifier.config.data, classifier.config.seed
    splits = labelled_dataset.read(data, seed)
    assert {*splits} == {"train", "valid", "calibration", "test"}
    texts = {name: {example.text for example in split.examples} for name, split in splits.items()}
    assert abs(len(texts["valid"]) - len(texts["calibration"])) <= 1
    assert not texts["calibration"] & (texts["valid"] | texts["train"] | texts["test"])


def test_a_classifier_is_calibrated_and_decides_as_before(classifier):
    texts = [example.text for example in classifier.load_examples(None, "test").examples]
    after = classifier.predict_proba(texts)
    before = uncalibrated(classifier, lambda: classifier.predict_proba(texts))
    temperature = classifier.temperature()
    assert temperature != 1 and np.allclose(after.sum(1), 1, atol=1e-6)
    assert np.array_equal(after.argmax(1), before.argmax(1))
    assert np.allclose(after, softmax(np.log(before.astype(float)) / temperature, 1), atol=1e-5)


def test_details_compare_before_and_after(classifier):
    table = classifier.error_analysis().tables["temperature scaling"]
    assert [row["probabilities"] for row in table] == ["as trained", "calibrated"]
    assert table[1]["temperature"] == classifier.temperature()
    before = uncalibrated(classifier, classifier.error_analysis).tables
    assert "temperature scaling" not in before and table[0]["ECE"] == before["calibration"][0]["ECE"]
    own = classifier.read_calibration()  # on what it is fitted on, the likelihood is the highest
    gold = [classifier.labels.index(labels[0]) for labels in own.labels]

    def loss():
        return -np.log(classifier.predict_proba(classifier.inputs(own))[np.arange(len(gold)), gold]).mean()

    assert loss() < uncalibrated(classifier, loss)


def test_the_temperature_is_stored_and_comes_back(classifier):
    path = classifier.run.path
    stored = next(score for score in classifier.run.scores() if score["name"] == "temperature")
    assert "calibration" in stored["signature"] and firth.load(path).temperature() == stored["value"]
    scores = (path / "scores.json").read_bytes()
    (path / "scores.json").unlink()
    lost = firth.load(path)
    assert lost.temperature() == 1.0
    again = {score.name: score.value for score in lost.evaluate(split="test")}
    assert again["temperature"] == pytest.approx(stored["value"]) and lost.temperature() == again["temperature"]
    (path / "scores.json").write_bytes(scores)


def test_a_tagger_with_a_crf(tagger):
    sentences = [example.words for example in tagger.load_examples(None, "test").examples]
    after, before = tagger.predict_proba(sentences), uncalibrated(tagger, lambda: tagger.predict_proba(sentences))
    assert tagger.temperature() > 0 and tagger.temperature() != 1.0
    assert not np.allclose(after[0], before[0]) and np.allclose(after[0].sum(1), 1)
    assert tagger.tag(sentences) == uncalibrated(tagger, lambda: tagger.tag(sentences))
    calibration = tagger.read_calibration()
    emissions = tagger.emissions([each.words for each in calibration.examples])
    gold = [np.array([tagger.labels["tag"].index(tag) for tag in each.tags[0]]) for each in calibration.examples]
    scores = [each["tag"] for each in emissions]
    best = tagger.temperature()
    losses = [tagger._loss(scores, gold, "tag", each) for each in (0.9 * best, best, 1.1 * best)]
    assert losses[1] <= min(losses[0], losses[2])


def test_the_search_finds_what_the_root_of_the_slope_is():
    own = np.random.default_rng(3)
    logits = 4 * own.normal(size=(500, 3))
    gold = np.array([own.choice(3, p=softmax(row / 2.5)) for row in logits])

    def loss(temperature):
        return float(-np.log(softmax(logits / temperature, 1)[np.arange(500), gold]).mean())

    assert best_temperature(loss) == pytest.approx(fit_temperature(logits, gold), rel=2e-3)


def test_answers_of_questions(tmp_path):
    settings = {"data.calibration": "temperature"}
    model = firth.train("bert-qa:tiny", out=tmp_path / "run", settings=settings, budget="3 steps", threads=1)
    assert model.temperature() != 1.0
    question = model.load_examples(None, "test").examples[0]
    after = model.find_answers(question.text, question.context)[0]
    before = uncalibrated(model, lambda: model.find_answers(question.text, question.context)[0])
    assert after.text == before.text and after.probability != before.probability


def test_without_the_setting_nothing_changes(tmp_path):
    (tmp_path / "x.tsv").write_text("\n".join(noisy_texts(60)) + "\n")
    named = {"text": tmp_path / "x.tsv", "budget": "2 steps", "threads": 1}
    settings = {"data.columns": "label=1,text=2"}
    model = firth.train("text-cnn:tiny", out=tmp_path / "run", settings=settings, **named)
    assert model.temperatures == {} and "calibration" not in model.run.record.data["splits"]
    settings["data.calibration"] = "temperature"
    few = firth.train("text-cnn:tiny", out=tmp_path / "few", settings=settings, **named)
    assert few.temperatures == {} and "calibration" not in few.run.record.data["splits"]  # 6 validation texts


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("logistic-regression", "only networks are calibrated by it; set calibration=temperature"),
        ("fasttext-classifier", "only networks are calibrated by it; set it to none"),
        ("crf-tagger", "only networks are calibrated by it"),
        ("bilstm-regressor:tiny", "only probabilities of labels, tags and answers are calibrated"),
        ("bert-multiple-choice:tiny", "only probabilities of labels, tags and answers are calibrated"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(preset, message, tmp_path):
    with pytest.raises(FirthError, match=message):
        firth.train(preset, out=tmp_path / "run", settings={"data.calibration": "temperature"})
