"""Truncated SVD against LAPACK, PCA against scikit-learn, and vectors of words with similar contexts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.decomposition import PCA

from firth.corpus.vocabulary import count_words
from firth.embeddings.cooccurrence import cooccurrence_matrix
from firth.embeddings.document_term import bag_of_words, hellinger_transform, ppmi, tfidf
from firth.embeddings.svd import hellinger_pca, lsa, ppmi_svd, truncated_svd
from firth.errors import FirthError


@pytest.fixture(scope="module")
def rows():
    """A sparse matrix with a decaying spectrum, not square."""
    sample = random_array((150, 90), density=0.2, rng=np.random.default_rng(0)).toarray()
    return csr_array(sample * 0.9 ** np.arange(90))


@pytest.fixture(scope="module")
def text():
    """Words of one kind never co-occur with each other, but have the same collocates."""
    rng = np.random.default_rng(3)
    kinds = [(["cat", "dog", "cow"], ["eats", "sleeps", "runs"]), (["oak", "elm", "fir"], ["grows", "falls", "burns"])]
    documents = []
    for _ in range(400):
        names, verbs = kinds[rng.integers(2)]
        documents.append(["the", str(rng.choice(names)), str(rng.choice(verbs))])
    vocabulary = count_words(documents)
    return vocabulary, *vocabulary.encode(documents)


@pytest.mark.parametrize("method", ["exact", "randomized"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_factors_are_those_of_the_full_decomposition(rows, method, center, transposed):
    rows = rows.T.tocsr() if transposed else rows
    found = truncated_svd(rows, 8, center=center, method=method)
    full = rows.toarray() - (rows.toarray().mean(0) if center else 0)
    left, values, right = np.linalg.svd(full, full_matrices=False)
    best = (left[:, :8] * values[:8]) @ right[:8]
    assert np.allclose(found.singular_values, values[:8], rtol=1e-6)
    assert np.allclose((found.left * found.singular_values) @ found.right.T, best, atol=1e-4)
    assert np.allclose(found.left.T @ found.left, np.eye(8), atol=1e-8)


@pytest.mark.parametrize("width", [1, 20, 60, 90])
def test_every_width_up_to_the_smaller_side_works(rows, width):
    assert np.allclose(truncated_svd(rows, width).singular_values, np.linalg.svd(rows.toarray())[1][:width])


@given(st.integers(0, 5), st.sampled_from(["exact", "randomized"]))
@settings(deadline=None, max_examples=10)
def test_signs_do_not_depend_on_the_seed(seed, method):
    rows = csr_array(np.random.default_rng(1).random((80, 70)) * 0.8 ** np.arange(70))
    found = truncated_svd(rows, 4, method=method, seed=seed)
    assert (found.left[np.abs(found.left).argmax(0), range(4)] > 0).all()
    assert np.allclose(found.left, truncated_svd(rows, 4).left, atol=1e-6)


def test_centered_rows_are_scikit_learns_pca(rows):
    expected = PCA(5, svd_solver="full").fit_transform(rows.toarray())
    assert np.allclose(np.abs(truncated_svd(rows, 5, center=True).rows()), np.abs(expected), atol=1e-5)


def test_the_exponent_weighs_by_singular_values(rows):
    found = truncated_svd(rows, 5)
    assert np.allclose(found.rows(0), found.left, atol=1e-6)
    assert np.allclose(found.rows(0.5), found.left * np.sqrt(found.singular_values), atol=1e-6)
    assert np.allclose(found.rows(1) @ found.columns(0).T, found.rows(0.5) @ found.columns(0.5).T, atol=1e-4)


def test_vectors_keep_the_products_of_their_matrices(text):
    """At full width and exponent 1, the inner products of vectors are those of the rows they come from."""
    vocabulary, ids, starts = text
    size = len(vocabulary)
    counts = cooccurrence_matrix(ids, starts, size, window=2)
    hell = hellinger_transform(counts).toarray()
    bags = bag_of_words(ids, starts, size)
    methods = {
        "ppmi": (ppmi_svd(counts, size), ppmi(counts, context_smoothing=0.75).toarray()),
        "lsa": (lsa(bags, size), tfidf(bags).toarray().T),
        "hellinger": (hellinger_pca(counts, size), hell - hell.mean(0)),
    }
    for factors, matrix in methods.values():
        vectors = factors.rows()
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous
        assert np.allclose(vectors @ vectors.T, matrix @ matrix.T, atol=1e-3)


@pytest.mark.parametrize(("reduce", "exponent"), [(ppmi_svd, 0.5), (hellinger_pca, 1.0)])
def test_words_with_the_same_collocates_are_similar(text, reduce, exponent):
    vocabulary, ids, starts = text
    vectors = reduce(cooccurrence_matrix(ids, starts, len(vocabulary), window=2), 3).rows(exponent)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vector = {word: unit[row] for row, word in enumerate(vocabulary.words)}
    assert vector["cat"] @ vector["dog"] > 0.9
    assert vector["cat"] @ vector["dog"] > vector["cat"] @ vector["oak"] + 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: truncated_svd(csr_array((3, 4)), 0), "choose a width from 1 to 3"),
        (lambda: truncated_svd(csr_array((3, 4)), 4), "4 dimensions from 3 rows and 4 columns"),
        (lambda: truncated_svd(csr_array((3, 4)), 1, method="exactly"), "did you mean 'exact'"),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(FirthError, match=message):
        call()


def test_zero_matrices_give_zeros():
    assert np.allclose(truncated_svd(csr_array((100, 90)), 3).rows(), 0)
    assert np.allclose(truncated_svd(csr_array(np.ones((100, 90))), 3, center=True).rows(), 0, atol=1e-6)


@pytest.mark.parametrize("method", ["exact", "randomized"])
def test_a_rank_lower_than_the_width(method):
    rng = np.random.default_rng(0)
    rows = rng.random((100, 2)) @ rng.random((2, 90))
    found = truncated_svd(csr_array(rows), 5, method=method)
    assert np.allclose(found.rows() @ found.columns(0).T, rows, atol=1e-4)
    assert np.allclose(found.singular_values[2:], 0, atol=1e-6)
