"""Counted vectors: their products and distances against matrices counted pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from firth.config.schema import Counted
from firth.errors import FirthError
from firth.vectors.corpus import Corpus
from firth.vectors.counted import Model
from firth.vectors.kernels import END, NONE
from firth.vectors.learner import Loss

WORDS = 12


def corpus(documents, words=WORDS):
    """Documents of word numbers; −1 is a word without a row."""
    tokens = np.concatenate([[*(words + 1 if word < 0 else word for word in row), words] for row in documents])
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in documents])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.array([END, NONE], np.int32))
    counts = np.bincount(tokens, minlength=words)[:words].astype(np.int64)
    return Corpus(tokens.astype(np.uint16), starts, row_of, [f"w{n}" for n in range(words)], counts)


def drawn(sentences=80, seed=1, words=WORDS):
    random = np.random.default_rng(seed)
    return [(random.zipf(1.2, random.integers(2, 10)) % (words + 1) - 1).tolist() for _ in range(sentences)]


def made(config, documents=None, **options):
    model = Model(corpus(documents or drawn()), config, 1, **options)
    assert model.work(0, 0) == Loss(0, 0.0) and model.pieces == 1
    return model


def near(documents, window):
    found = np.zeros((WORDS, WORDS))
    for row in documents:
        for i, word in enumerate(row):
            for j in range(max(0, i - window), min(len(row), i + window + 1)):
                if i != j and word >= 0 and row[j] >= 0:
                    found[word, row[j]] += 1
    return found


@pytest.mark.parametrize("shift", [1.0, 2.0])
def test_products_of_words_and_contexts_are_ppmi(shift):
    counts = near(drawn(), 2)
    contexts = counts.sum(0) ** 0.75
    with np.errstate(divide="ignore"):
        chance = counts.sum(1)[:, None] / counts.sum() * contexts / contexts.sum()
        expected = np.maximum(np.log2(counts / counts.sum() / chance / shift), 0)
    store = made(Counted(width=WORDS, window=2, shift=shift)).store()
    assert np.allclose(store.vectors @ store.context.T, expected, atol=1e-4) and expected.max() > 0.1
    assert np.array_equal(store.counts, corpus(drawn()).counts) and list(store.words) == [f"w{n}" for n in range(WORDS)]


def test_distances_of_words_are_hellingers():
    shares = near(drawn(), 3)
    roots = np.sqrt(shares / shares.sum(1, keepdims=True))
    expected = np.linalg.norm(roots[:, None] - roots[None], axis=2)
    store = made(Counted(matrix="hellinger", width=WORDS, window=3, power=1.0)).store()
    assert np.allclose(np.linalg.norm(store.vectors[:, None] - store.vectors[None], axis=2), expected, atol=1e-4)
    assert store.context is None


@pytest.mark.parametrize("weighting", ["count", "log10"])
def test_products_of_words_are_those_of_terms_by_documents(weighting):
    documents = drawn()
    terms = np.array([[row.count(word) for row in documents] for word in range(WORDS)], float)
    if weighting == "log10":
        terms *= np.log10(len(documents) / (terms > 0).sum(1))[:, None]
    store = made(Counted(matrix="documents", width=WORDS, weighting=weighting, power=1.0)).store()
    assert np.allclose(store.vectors @ store.vectors.T, terms @ terms.T, atol=1e-3)
    assert store.context is None


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger", "documents"])
def test_powers_weigh_the_same_directions(matrix):
    plain, weighed = (made(Counted(matrix=matrix, width=4, power=power)).store().vectors for power in (0.0, 0.5))
    assert np.allclose(plain.T @ plain, np.eye(4), atol=1e-4)
    values = np.linalg.norm(weighed, axis=0)
    assert (np.diff(values) <= 1e-6).all() and np.allclose(plain * values, weighed, atol=1e-4)


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger", "documents"])
@pytest.mark.parametrize("method", ["exact", "randomized"])
def test_the_same_again_in_files_and_with_any_threads(matrix, method, tmp_path):
    config, documents = Counted(matrix=matrix, width=5, method=method), drawn(300)
    one, other = made(config, documents, threads=1), made(config, documents, threads=2, folder=tmp_path / "cells")
    first = {name: array.copy() for name, array in one.arrays.items()}
    one.work(1, 0)
    for name, array in first.items():
        assert array.tobytes() == one.arrays[name].tobytes() == other.arrays[name].tobytes()
    assert not list((tmp_path / "cells").glob("*"))
    assert one.held_out(one.corpus) is None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (Counted(width=13), "vectors of width 13 from 12 words; choose a width of at most 12"),
        (Counted(matrix="hellinger", width=500), "choose a width of at most 12"),
        (Counted(matrix="documents", width=9), "from 12 words and 8 documents; choose a width of at most 8"),
    ],
)
def test_a_width_that_the_text_does_not_have(config, says):
    with pytest.raises(FirthError, match=says):
        Model(corpus(drawn(8)), config, 1)


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger"])
def test_words_that_are_never_near_each_other(matrix):
    with pytest.raises(FirthError, match="no two words of the vocabulary stand near each other"):
        made(Counted(matrix=matrix, width=2), [[n] for n in range(WORDS)])


def test_a_word_without_neighbours_has_zeros():
    documents = [*([word for word in row if word != 3] for row in drawn()), [3]]
    for matrix in ("ppmi", "hellinger"):
        store = made(Counted(matrix=matrix, width=5), documents).store()
        assert np.isfinite(store.vectors).all()
    assert not made(Counted(width=5), documents).store().vectors[3].any()
