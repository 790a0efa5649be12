"""Truncated SVD against LAPACK, PCA against scikit-learn, and vectors that know which words are alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.decomposition import PCA

from firth.counts.cooccurrence import cooccurrence
from firth.counts.matrix import bag_of_words, hellinger_rows, ppmi, tfidf
from firth.counts.reduction import factor, reduce_documents, reduce_hellinger, reduce_ppmi
from firth.counts.vocabulary import count_words
from firth.errors import FirthError


@pytest.fixture(scope="module")
def rows():
    """A sparse matrix with a spectrum that falls, and rows and columns of unlike number."""
    drawn = random_array((150, 90), density=0.2, rng=np.random.default_rng(0)).toarray()
    return csr_array(drawn * 0.9 ** np.arange(90))


@pytest.fixture(scope="module")
def text():
    """Two kinds of words that never meet each other but meet the same company."""
    rng = np.random.default_rng(3)
    kinds = [(["cat", "dog", "cow"], ["eats", "sleeps", "runs"]), (["oak", "elm", "fir"], ["grows", "falls", "burns"])]
    documents = []
    for _ in range(400):
        names, verbs = kinds[rng.integers(2)]
        documents.append(["the", str(rng.choice(names)), str(rng.choice(verbs))])
    vocabulary = count_words(documents)
    return vocabulary, *vocabulary.encode(documents)


@pytest.mark.parametrize("method", ["exact", "randomized"])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_factors_are_those_of_the_full_decomposition(rows, method, centred, turned):
    rows = rows.T.tocsr() if turned else rows
    found = factor(rows, 8, centred=centred, method=method)
    full = rows.toarray() - (rows.toarray().mean(0) if centred else 0)
    left, values, right = np.linalg.svd(full, full_matrices=False)
    best = (left[:, :8] * values[:8]) @ right[:8]
    assert np.allclose(found.values, values[:8], rtol=1e-6)
    assert np.allclose((found.left * found.values) @ found.right.T, best, atol=1e-4)
    assert np.allclose(found.left.T @ found.left, np.eye(8), atol=1e-8)


@pytest.mark.parametrize("width", [1, 20, 60, 90])
def test_every_width_up_to_the_smaller_side_works(rows, width):
    assert np.allclose(factor(rows, width).values, np.linalg.svd(rows.toarray())[1][:width])


@given(st.integers(0, 5), st.sampled_from(["exact", "randomized"]))
@settings(deadline=None, max_examples=10)
def test_signs_do_not_depend_on_the_seed(seed, method):
    rows = csr_array(np.random.default_rng(1).random((80, 70)) * 0.8 ** np.arange(70))
    found = factor(rows, 4, method=method, seed=seed)
    assert (found.left[np.abs(found.left).argmax(0), range(4)] > 0).all()
    assert np.allclose(found.left, factor(rows, 4).left, atol=1e-6)


def test_centred_rows_are_scikit_learns_pca(rows):
    truth = PCA(5, svd_solver="full").fit_transform(rows.toarray())
    assert np.allclose(np.abs(factor(rows, 5, centred=True).rows()), np.abs(truth), atol=1e-5)


def test_the_exponent_weighs_by_singular_values(rows):
    found = factor(rows, 5)
    assert np.allclose(found.rows(0), found.left, atol=1e-6)
    assert np.allclose(found.rows(0.5), found.left * np.sqrt(found.values), atol=1e-6)
    assert np.allclose(found.rows(1) @ found.columns(0).T, found.rows(0.5) @ found.columns(0.5).T, atol=1e-4)


def test_vectors_keep_the_products_of_their_matrices(text):
    """At full width and exponent 1, the inner products of vectors are those of the rows they come from."""
    vocabulary, ids, starts = text
    size = len(vocabulary)
    counts = cooccurrence(ids, starts, size, window=2)
    hell = hellinger_rows(counts).toarray()
    bags = bag_of_words(ids, starts, size)
    made = {
        "ppmi": (reduce_ppmi(counts, size), ppmi(counts, smoothing=0.75).toarray()),
        "documents": (reduce_documents(bags, size), tfidf(bags).toarray().T),
        "hellinger": (reduce_hellinger(counts, size), hell - hell.mean(0)),
    }
    for factors, truth in made.values():
        vectors = factors.rows()
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous
        assert np.allclose(vectors @ vectors.T, truth @ truth.T, atol=1e-3)


@pytest.mark.parametrize(("reduce", "exponent"), [(reduce_ppmi, 0.5), (reduce_hellinger, 1.0)])
def test_words_in_the_same_company_are_alike(text, reduce, exponent):
    vocabulary, ids, starts = text
    vectors = reduce(cooccurrence(ids, starts, len(vocabulary), window=2), 3).rows(exponent)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    at = {word: unit[number] for number, word in enumerate(vocabulary.words)}
    assert at["cat"] @ at["dog"] > 0.9
    assert at["cat"] @ at["dog"] > at["cat"] @ at["oak"] + 0.5


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: factor(csr_array((3, 4)), 0), "choose a width from 1 to 3"),
        (lambda: factor(csr_array((3, 4)), 4), "4 dimensions from 3 rows and 4 columns"),
        (lambda: factor(csr_array((3, 4)), 1, method="exactly"), "did you mean 'exact'"),
    ],
)
def test_bad_input_is_one_clear_line(call, says):
    with pytest.raises(FirthError, match=says):
        call()


def test_nothing_at_all_gives_zeros():
    assert np.allclose(factor(csr_array((100, 90)), 3).rows(), 0)
    assert np.allclose(factor(csr_array(np.ones((100, 90))), 3, centred=True).rows(), 0, atol=1e-6)


@pytest.mark.parametrize("method", ["exact", "randomized"])
def test_fewer_directions_than_asked_for_are_no_trouble(method):
    rng = np.random.default_rng(0)
    rows = rng.random((100, 2)) @ rng.random((2, 90))
    found = factor(csr_array(rows), 5, method=method)
    assert np.allclose(found.rows() @ found.columns(0).T, rows, atol=1e-4)
    assert np.allclose(found.values[2:], 0, atol=1e-6)
