"""Count-based vectors: their products and distances against matrices counted pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from firth.config.schema import CountVectors
from firth.embeddings.count_vectors import CountVectorsTrainer
from firth.embeddings.method import Loss
from firth.embeddings.training_text import Corpus
from firth.embeddings.word2vec_kernels import END, NONE
from firth.errors import FirthError

WORDS = 12


def corpus(documents, words=WORDS):
    """Documents of word ids; −1 is a word without a row."""
    tokens = np.concatenate([[*(words + 1 if word < 0 else word for word in row), words] for row in documents])
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in documents])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.array([END, NONE], np.int32))
    counts = np.bincount(tokens, minlength=words)[:words].astype(np.int64)
    return Corpus(tokens.astype(np.uint16), starts, row_of, [f"w{n}" for n in range(words)], counts)


def sample_documents(sentences=80, seed=1, words=WORDS):
    random = np.random.default_rng(seed)
    return [(random.zipf(1.2, random.integers(2, 10)) % (words + 1) - 1).tolist() for _ in range(sentences)]


def trained(config, documents=None, **options):
    model = CountVectorsTrainer(corpus(documents or sample_documents()), config, 1, **options)
    assert model.train_chunk(0, 0) == Loss(0, 0.0) and model.chunks == 1
    return model


def brute_force(documents, window):
    counts = np.zeros((WORDS, WORDS))
    for row in documents:
        for i, word in enumerate(row):
            for j in range(max(0, i - window), min(len(row), i + window + 1)):
                if i != j and word >= 0 and row[j] >= 0:
                    counts[word, row[j]] += 1
    return counts


@pytest.mark.parametrize("shift", [1.0, 2.0])
def test_products_of_words_and_contexts_are_ppmi(shift):
    counts = brute_force(sample_documents(), 2)
    contexts = counts.sum(0) ** 0.75
    with np.errstate(divide="ignore"):
        independent = counts.sum(1)[:, None] / counts.sum() * contexts / contexts.sum()
        expected = np.maximum(np.log2(counts / counts.sum() / independent / shift), 0)
    store = trained(CountVectors(width=WORDS, window=2, shift=shift)).word_vectors()
    assert np.allclose(store.vectors @ store.context.T, expected, atol=1e-4) and expected.max() > 0.1
    assert np.array_equal(store.counts, corpus(sample_documents()).counts) and list(store.words) == [
        f"w{n}" for n in range(WORDS)
    ]


def test_distances_of_words_are_hellingers():
    counts = brute_force(sample_documents(), 3)
    roots = np.sqrt(counts / counts.sum(1, keepdims=True))
    expected = np.linalg.norm(roots[:, None] - roots[None], axis=2)
    store = trained(CountVectors(matrix="hellinger", width=WORDS, window=3, singular_value_power=1.0)).word_vectors()
    assert np.allclose(np.linalg.norm(store.vectors[:, None] - store.vectors[None], axis=2), expected, atol=1e-4)
    assert store.context is None


@pytest.mark.parametrize("weighting", ["count", "log10"])
def test_products_of_words_are_those_of_terms_by_documents(weighting):
    documents = sample_documents()
    terms = np.array([[row.count(word) for row in documents] for word in range(WORDS)], float)
    if weighting == "log10":
        terms *= np.log10(len(documents) / (terms > 0).sum(1))[:, None]
    store = trained(
        CountVectors(matrix="lsa", width=WORDS, weighting=weighting, singular_value_power=1.0)
    ).word_vectors()
    assert np.allclose(store.vectors @ store.vectors.T, terms @ terms.T, atol=1e-3)
    assert store.context is None


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger", "lsa"])
def test_powers_weigh_the_same_directions(matrix):
    unweighted, weighted = (
        trained(CountVectors(matrix=matrix, width=4, singular_value_power=power)).word_vectors().vectors
        for power in (0.0, 0.5)
    )
    assert np.allclose(unweighted.T @ unweighted, np.eye(4), atol=1e-4)
    values = np.linalg.norm(weighted, axis=0)
    assert (np.diff(values) <= 1e-6).all() and np.allclose(unweighted * values, weighted, atol=1e-4)


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger", "lsa"])
@pytest.mark.parametrize("method", ["exact", "randomized"])
def test_the_same_again_in_files_and_with_any_threads(matrix, method, tmp_path):
    config, documents = CountVectors(matrix=matrix, width=5, svd=method), sample_documents(300)
    one, other = trained(config, documents, threads=1), trained(config, documents, threads=2, folder=tmp_path / "cells")
    first = {name: array.copy() for name, array in one.arrays.items()}
    one.train_chunk(1, 0)
    for name, array in first.items():
        assert array.tobytes() == one.arrays[name].tobytes() == other.arrays[name].tobytes()
    assert not list((tmp_path / "cells").glob("*"))
    assert one.held_out(one.corpus) is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (CountVectors(width=13), "vectors of width 13 from 12 words; choose a width of at most 12"),
        (CountVectors(matrix="hellinger", width=500), "choose a width of at most 12"),
        (CountVectors(matrix="lsa", width=9), "from 12 words and 8 documents; choose a width of at most 8"),
    ],
)
def test_a_width_that_the_text_does_not_have(config, message):
    with pytest.raises(FirthError, match=message):
        CountVectorsTrainer(corpus(sample_documents(8)), config, 1)


@pytest.mark.parametrize("matrix", ["ppmi", "hellinger"])
def test_words_that_are_never_near_each_other(matrix):
    with pytest.raises(FirthError, match="no two words of the vocabulary co-occur in the text"):
        trained(CountVectors(matrix=matrix, width=2), [[n] for n in range(WORDS)])


def test_a_word_without_neighbours_has_zeros():
    documents = [*([word for word in row if word != 3] for row in sample_documents()), [3]]
    for matrix in ("ppmi", "hellinger"):
        store = trained(CountVectors(matrix=matrix, width=5), documents).word_vectors()
        assert np.isfinite(store.vectors).all()
    assert not trained(CountVectors(width=5), documents).word_vectors().vectors[3].any()
