"""Pre-trained word vectors as a network's token embeddings."""

import numpy as np
import pytest

import firth
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.runs.weights import read_metadata

TEXT = ["the cat sat on the mat", "a dog sat on a mat", "the dog and the cat sat"] * 20


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))


def train(tmp_path, **more):
    words = ["cat", "dog", "sat"]
    vectors = np.arange(24, dtype=np.float32).reshape(3, 8) + 1
    WordVectors(words, vectors).save(tmp_path / "v.txt")
    settings = {"inputs.text.frozen": True, "data.document": "line", "data.group_duplicates": False}
    settings |= more.pop("settings", {})
    model = firth.train(
        "lstm-lm:tiny", text=TEXT, out=tmp_path / "run", budget="2 steps", tokenizer="word", vocab_size=50,
        pretrained_vectors=tmp_path / "v.txt", settings=settings, **{"width": 8, **more},
    )  # fmt: skip
    return model, dict(zip(words, vectors, strict=True))


def test_known_words_start_from_the_file_and_stay_if_frozen(tmp_path):
    model, vectors = train(tmp_path)
    table = model._engine.system.inputs["text"].weight.detach().numpy()
    for word, vector in vectors.items():
        assert table[model.tokenizer.encode(word)[0]].tolist() == vector.tolist()
    other = table[model.tokenizer.encode("mat")[0]]
    assert 0 < np.abs(other).max() <= 0.1  # its own initialisation
    assert read_metadata(model.run.weights)


def test_vectors_that_are_not_frozen_learn(tmp_path):
    model, vectors = train(tmp_path, settings={"inputs.text.frozen": False})
    table = model._engine.system.inputs["text"].weight.detach().numpy()
    vector = table[model.tokenizer.encode("cat")[0]]
    assert 0 < np.abs(vector - vectors["cat"]).max() < 0.1


def test_another_width_is_refused(tmp_path):
    with pytest.raises(FirthError, match="vectors of width 8 for an input of width 16"):
        train(tmp_path, width=16)
