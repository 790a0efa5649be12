"""Matrices of documents and words against scikit-learn and plain loops."""

from math import log2, log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from firth.counts.matrix import bag_of_words, hellinger_rows, learn_tfidf, one_hot, ppmi, term_document, tfidf
from firth.counts.vocabulary import Vocabulary, count_words
from firth.errors import FirthError

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=9), min_size=1, max_size=6).filter(any)
COUNTS = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5).map(np.array)


def peers(kind, words, documents, **options):
    """What scikit-learn makes of the same documents and words."""
    return kind(vocabulary=words, analyzer=lambda document: document, **options).fit_transform(documents).toarray()


@given(DOCUMENTS, st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_bags_are_scikit_learns(documents, most):
    vocabulary = count_words(documents, most=most)
    text = *vocabulary.encode(documents), len(vocabulary)
    before = text[0].copy()
    bags = bag_of_words(*text)
    assert np.array_equal(bags.toarray(), peers(CountVectorizer, vocabulary.words, documents))
    assert np.array_equal(term_document(*text).toarray(), bags.toarray().T)
    assert np.array_equal(text[0], before)
    assert bags.dtype == np.int64


@given(DOCUMENTS, st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_smooth_tfidf_is_scikit_learns(documents, most):
    vocabulary = count_words(documents, most=most)
    bags = bag_of_words(*vocabulary.encode(documents), len(vocabulary))
    truth = peers(TfidfVectorizer, vocabulary.words, documents)
    assert np.allclose(tfidf(bags, "smooth").toarray(), truth, rtol=1e-12, atol=0)


@given(DOCUMENTS)
@settings(deadline=None, max_examples=60)
def test_the_handbooks_tfidf_is_count_times_log10(documents):
    vocabulary = count_words(documents)
    weighed = tfidf(bag_of_words(*vocabulary.encode(documents), len(vocabulary))).toarray()
    for row, document in zip(weighed, documents, strict=True):
        for column, word in enumerate(vocabulary.words):
            share = sum(word in other for other in documents)
            assert row[column] == pytest.approx(document.count(word) * log10(len(documents) / share))


def test_weights_serve_other_documents():
    known = csr_array(np.array([[1, 1, 0], [2, 0, 0], [1, 0, 0]]))
    found = learn_tfidf(known, "log10")
    assert np.allclose(found.idf, [0, log10(3), 0])  # the last word was in no document
    assert np.allclose(found.weigh(csr_array([[4, 2, 7]])).toarray(), [[0, 2 * log10(3), 0]])


def test_one_hot_rows_of_the_handbook():
    vocabulary = Vocabulary(("i", "we", "go", "school"), np.ones(4, np.int64))
    ids, _ = vocabulary.encode([["i", "go", "school", "now"]])
    assert one_hot(ids, 4).toarray().tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


@given(COUNTS, st.sampled_from([1, 2, 5.5]), st.sampled_from([1, 0.75, 0]))
@settings(deadline=None, max_examples=60)
def test_ppmi_is_its_definition(counts, shift, smoothing):
    found = ppmi(csr_array(counts), shift=shift, smoothing=smoothing)
    words, contexts, total = counts.sum(1), counts.sum(0), counts.sum()
    smoothed = [n**smoothing if n else 0 for n in contexts]
    for i, row in enumerate(counts):
        for j, both in enumerate(row):
            truth = 0
            if both:
                truth = log2((both / total) / (words[i] / total * smoothed[j] / sum(smoothed))) - log2(shift)
            assert found[i, j] == pytest.approx(max(truth, 0), abs=1e-12)
    assert (found.data > 0).all()


@given(COUNTS)
@settings(deadline=None, max_examples=60)
def test_hellinger_rows_are_roots_of_shares(counts):
    rows = hellinger_rows(csr_array(counts)).toarray()
    assert np.allclose((rows**2).sum(1), counts.any(1))
    assert np.allclose(rows**2 * counts.sum(1, keepdims=True), counts)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: one_hot(np.array([3]), 3), "number is 3, but there are 3 words"),
        (lambda: bag_of_words(np.array([3]), np.array([0, 1]), 3), "number is 3"),
        (lambda: tfidf(csr_array((1, 1)), "log2"), "did you mean 'log10'"),
        (lambda: ppmi(csr_array((1, 1)), shift=0), "shift 0"),
    ],
)
def test_bad_input_is_one_clear_line(call, says):
    with pytest.raises(FirthError, match=says):
        call()
