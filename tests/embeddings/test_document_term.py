"""Matrices of documents and words against scikit-learn and plain loops."""

from math import log2, log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from firth.corpus.vocabulary import Vocabulary, count_words
from firth.embeddings.document_term import (
    bag_of_words,
    fit_tfidf,
    hellinger_transform,
    one_hot,
    ppmi,
    term_document,
    tfidf,
)
from firth.errors import FirthError

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=9), min_size=1, max_size=6).filter(any)
COUNTS = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5).map(np.array)


def peers(kind, words, documents, **options):
    """scikit-learn's matrix of the same documents and words."""
    return kind(vocabulary=words, analyzer=lambda document: document, **options).fit_transform(documents).toarray()


@given(DOCUMENTS, st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_bags_are_scikit_learns(documents, max_words):
    vocabulary = count_words(documents, max_words=max_words)
    text = *vocabulary.encode(documents), len(vocabulary)
    before = text[0].copy()
    bags = bag_of_words(*text)
    assert np.array_equal(bags.toarray(), peers(CountVectorizer, vocabulary.words, documents))
    assert np.array_equal(term_document(*text).toarray(), bags.toarray().T)
    assert np.array_equal(text[0], before)
    assert bags.dtype == np.int64


@given(DOCUMENTS, st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_smooth_tfidf_is_scikit_learns(documents, max_words):
    vocabulary = count_words(documents, max_words=max_words)
    bags = bag_of_words(*vocabulary.encode(documents), len(vocabulary))
    expected = peers(TfidfVectorizer, vocabulary.words, documents)
    assert np.allclose(tfidf(bags, "smooth").toarray(), expected, rtol=1e-12, atol=0)


@given(DOCUMENTS)
@settings(deadline=None, max_examples=60)
def test_the_textbooks_tfidf_is_count_times_log10(documents):
    vocabulary = count_words(documents)
    weighted = tfidf(bag_of_words(*vocabulary.encode(documents), len(vocabulary))).toarray()
    for row, document in zip(weighted, documents, strict=True):
        for column, word in enumerate(vocabulary.words):
            document_frequency = sum(word in other for other in documents)
            assert row[column] == pytest.approx(document.count(word) * log10(len(documents) / document_frequency))


def test_fitted_weights_transform_other_documents():
    training = csr_array(np.array([[1, 1, 0], [2, 0, 0], [1, 0, 0]]))
    fitted = fit_tfidf(training, "log10")
    assert np.allclose(fitted.idf, [0, log10(3), 0])  # the last word was in no document
    assert np.allclose(fitted.transform(csr_array([[4, 2, 7]])).toarray(), [[0, 2 * log10(3), 0]])


def test_one_hot_rows_of_the_textbook():
    vocabulary = Vocabulary(("i", "we", "go", "school"), np.ones(4, np.int64))
    ids, _ = vocabulary.encode([["i", "go", "school", "now"]])
    assert one_hot(ids, 4).toarray().tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


@given(COUNTS, st.sampled_from([1, 2, 5.5]), st.sampled_from([1, 0.75, 0]))
@settings(deadline=None, max_examples=60)
def test_ppmi_is_its_definition(counts, shift, smoothing):
    matrix = ppmi(csr_array(counts), shift=shift, context_smoothing=smoothing)
    words, contexts, total = counts.sum(1), counts.sum(0), counts.sum()
    smoothed = [n**smoothing if n else 0 for n in contexts]
    for i, row in enumerate(counts):
        for j, joint in enumerate(row):
            expected = 0
            if joint:
                expected = log2((joint / total) / (words[i] / total * smoothed[j] / sum(smoothed))) - log2(shift)
            assert matrix[i, j] == pytest.approx(max(expected, 0), abs=1e-12)
    assert (matrix.data > 0).all()


@given(COUNTS)
@settings(deadline=None, max_examples=60)
def test_hellinger_rows_are_roots_of_probabilities(counts):
    rows = hellinger_transform(csr_array(counts)).toarray()
    assert np.allclose((rows**2).sum(1), counts.any(1))
    assert np.allclose(rows**2 * counts.sum(1, keepdims=True), counts)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: one_hot(np.array([3]), 3), "token id 3 in a vocabulary of 3 words"),
        (lambda: bag_of_words(np.array([3]), np.array([0, 1]), 3), "token id 3"),
        (lambda: tfidf(csr_array((1, 1)), "log2"), "did you mean 'log10'"),
        (lambda: ppmi(csr_array((1, 1)), shift=0), "shift 0"),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(FirthError, match=message):
        call()
