"""Pre-trained word vectors as a network's token embeddings."""

import numpy as np
import pytest

import firth
from firth.config import schema
from firth.config.streams import Streams
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.families.pretrained_embeddings import load_pretrained_vectors, with_known_words
from firth.models.build import build
from firth.runs.weights import read_metadata
from firth.types import Sizes
from word_samples import TAGS, config, split

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


def test_words_of_the_data_that_have_a_vector_join_the_vocabulary(tmp_path):
    vectors = np.arange(32, dtype=np.float32).reshape(4, 8)
    WordVectors(["cat", "Oslo", "river", "moon"], vectors).save(tmp_path / "v.txt")
    words = schema.WordInput(schema.WordVectors(width=8, min_count=2, frozen=True))
    system = config(inputs=Streams(words=words).replace("words", pretrained_vectors=tmp_path / "v.txt"))
    train, test = split([["Cat", "dog", "dog"]], system), split([["Oslo", "oslo", "River", "sun"]], system)
    tokenizers = {"words": firth.Tokenizer.train(VOCABULARY, ["dog"])}
    splits = {name: part.with_words(tokenizers["words"]) for name, part in {"train": train, "test": test}.items()}
    assert with_known_words(system, tokenizers, tokenizers, splits) == (tokenizers, splits)
    known, splits = with_known_words(system, {}, tokenizers, splits)
    assert [*known["words"].vocabulary()][7:] == ["dog", "Cat", "Oslo", "River"]
    assert splits["train"].word_ids.tolist() == [8, 7, 7] and splits["test"].word_ids.tolist() == [9, 1, 10, 1]
    network = build(system, Sizes.of(known, {"upos": TAGS}))
    said = load_pretrained_vectors(network, "words", tmp_path / "v.txt", known["words"])
    assert said == f"3 of 11 tokens initialised from {tmp_path / 'v.txt'}"
    weight = network.input_of("words").weight.detach().numpy()
    assert weight[[8, 9, 10]].tolist() == vectors[[0, 1, 2]].tolist() and np.abs(weight[7]).max() <= 0.1


VOCABULARY = schema.Tokenizer(model="word", split="tabs")
