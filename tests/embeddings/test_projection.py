"""PCA against the singular value decomposition; t-SNE against its definition and scikit-learn's; missing packages."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._t_sne import _joint_probabilities

from firth.embeddings import projection
from firth.embeddings.projection import effective_perplexity, is_available, pca, project
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.report.word_maps import word_map


def clusters(number=4, each=20, width=12, seed=0):
    """Points around far centres, and the number of the centre of each."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(number, width)) * 6
    points = centres[:, None] + random.normal(size=(number, each, width))
    return points.reshape(-1, width), np.arange(number).repeat(each)


# --- PCA ---


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 99))
def test_pca_has_the_first_two_columns_of_the_decomposition(size, width, seed):
    vectors = np.random.default_rng(seed).normal(size=(size, width)) * np.arange(width, 0, -1) ** 2  # all values apart
    left, values, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    expected = np.zeros((size, 2))
    expected[:, : min(2, len(values))] = (left * values)[:, :2]
    signs = np.where((expected * pca(vectors)).sum(0) < 0, -1, 1)
    np.testing.assert_allclose(pca(vectors) * signs, expected, atol=1e-9 * width**2)


def test_pca_does_not_depend_on_the_order_of_the_rows():
    vectors, _ = clusters()
    order = np.random.default_rng(5).permutation(len(vectors))
    np.testing.assert_allclose(pca(vectors[order]), pca(vectors)[order], atol=1e-9)


# --- t-SNE ---


def kl_divergence(points, affinities):
    """The definition (van der Maaten and Hinton 2008, eqs. 4 and 5), without any shortcut."""
    closeness = 1 / (1 + ((points[:, None] - points) ** 2).sum(2))
    np.fill_diagonal(closeness, 0)
    similarities = closeness / closeness.sum()
    nonzero = affinities > 0
    return float((affinities[nonzero] * np.log(affinities[nonzero] / similarities[nonzero])).sum())


def joint_probabilities(vectors, perplexity):
    """scikit-learn's affinities p_ij, as a square matrix that sums to 1."""
    squares = ((vectors[:, None] - vectors) ** 2).sum(2).astype(np.float32)
    return squareform(_joint_probabilities(squares, perplexity, 0))


@pytest.mark.parametrize("size, expected", [(4, 1.0), (7, 2.0), (10, 3.0), (91, 30.0), (1000, 30.0)])
def test_the_perplexity_is_lowered_for_few_points(size, expected):
    assert effective_perplexity(30, size) == expected


def test_tsne_keeps_clusters_apart_and_neighbours_near():
    vectors, centre = clusters(5, 24)
    points = project(vectors, "tsne")
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (centre[distances.argmin(1)] == centre).all()
    peer = TSNE(init="pca", random_state=0).fit_transform(vectors)
    assert trustworthiness(vectors, points, n_neighbors=10) > trustworthiness(vectors, peer, n_neighbors=10) - 0.02


def test_tsne_goes_as_low_as_scikit_learns():
    vectors = np.random.default_rng(3).normal(size=(150, 6))
    peer = TSNE(init="pca", random_state=0, method="exact", max_iter=750).fit_transform(vectors)
    affinities = joint_probabilities(vectors, 30)
    ours, theirs = project(vectors, "tsne"), peer.astype(np.float64)
    assert kl_divergence(ours, affinities) < kl_divergence(theirs, affinities) + 0.05


def test_the_same_seed_gives_the_same_bytes():
    vectors, _ = clusters(3, 10)
    assert project(vectors, "tsne", seed=4).tobytes() == project(vectors, "tsne", seed=4).tobytes()
    assert project(vectors, "tsne", seed=4).tobytes() != project(vectors, "tsne", seed=5).tobytes()


@pytest.mark.parametrize("method", ["pca", "tsne"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_few_points_have_a_map(method, size):
    vectors = np.random.default_rng(size).normal(size=(size, 5))
    points = project(vectors, method)
    assert points.shape == (size, 2)
    assert np.isfinite(points).all()
    assert size == 1 or np.ptp(points, 0).max() > 0.1


@pytest.mark.parametrize(
    "vectors",
    [np.ones((20, 3)), np.eye(4).repeat(12, 0), np.eye(30) * 1e-30, np.eye(30) * 1e30, np.arange(30.0)[:, None]],
)
def test_equal_tiny_huge_and_narrow_vectors_have_a_map(vectors):
    assert np.isfinite(project(vectors, "tsne")).all()


def test_equal_vectors_stay_together():
    points = project(np.eye(4).repeat(12, 0), "tsne").reshape(4, 12, 2)
    inside = np.ptp(points, axis=1).max()
    between = min(np.linalg.norm(points[a].mean(0) - points[b].mean(0)) for a in range(4) for b in range(a))
    assert inside < between


# --- bad input ---


@pytest.mark.parametrize(
    "vectors, options, message",
    [
        (np.zeros((0, 5)), {}, "shape (0, 5)"),
        (np.zeros(5), {}, "shape (5,)"),
        (np.full((9, 3), np.nan), {}, "NaN"),
        (np.ones((9, 3)), {"method": "tnse"}, "did you mean 'tsne'?"),
        (np.ones((9, 3)), {"perplexity": 0.0}, "a perplexity of 0"),
        (np.ones((9, 3)), {"perplexity": float("nan")}, "a perplexity of nan"),
    ],
)
def test_bad_input_is_one_clear_line(vectors, options, message):
    with pytest.raises(FirthError) as raised:
        project(vectors, **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


# --- other packages ---


@pytest.mark.parametrize("method, package", [("umap", "umap"), ("tsne", "openTSNE")])
def test_a_package_that_is_missing_is_named(monkeypatch, method, package):
    vectors = np.random.default_rng(0).normal(size=(10, 2))
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    with pytest.raises(FirthError, match=f'needs the package {package}; pip install "firth\\[maps\\]"'):
        project(vectors, method)
    assert not is_available(method) and is_available("pca")
    np.testing.assert_array_equal(project(vectors[:3], method), pca(vectors[:3]))  # few points need no package


def test_without_the_packages_a_map_is_by_pca(monkeypatch):
    """An installation without extras draws maps and writes reports of word vectors."""
    vectors = np.random.default_rng(0).normal(size=(10, 5))
    assert projection.default_method() == "tsne"
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    np.testing.assert_array_equal(project(vectors), project(vectors, "pca"))
    store = WordVectors([f"w{number}" for number in range(10)], vectors.astype(np.float32))
    assert word_map(store).caption.startswith("PCA of unit vectors")


def test_tsne_is_opentsnes_with_one_thread_a_seed_and_a_small_pca_to_start_from(monkeypatch):
    """The arguments are recorded by a stand-in."""
    recorded = []

    class Recorder:
        def __init__(self, **options):
            recorded.append(options)

        def fit(self, vectors):
            return vectors[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "openTSNE", SimpleNamespace(TSNE=Recorder, __spec__=SimpleNamespace()))
    assert project(clusters(2, 20)[0], "tsne", seed=7, perplexity=5.0).shape == (40, 2)
    project(clusters(1, 7)[0], "tsne", seed=8)
    chosen = [(options["perplexity"], options["random_state"], options["n_jobs"]) for options in recorded]
    assert chosen == [(5.0, 7, 1), (2.0, 8, 1)]
    assert recorded[0]["initialization"].std(0)[0] == pytest.approx(1e-4, rel=0.01)


def test_umap_gets_one_thread_a_seed_and_no_more_neighbours_than_there_are(monkeypatch):
    """UMAP itself takes many seconds to compile: here a stand-in that records its arguments."""
    recorded = []

    class Mapper:
        def __init__(self, neighbours, **options):
            recorded.append((neighbours, options["random_state"], options["n_jobs"]))

        def fit_transform(self, vectors):
            return vectors[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Mapper, __spec__=SimpleNamespace()))
    assert project(clusters(1, 6)[0], "umap", seed=7).shape == (6, 2)
    project(clusters(2, 20)[0], "umap", seed=8)
    assert recorded == [(5, 7, 1), (15, 8, 1)]


@pytest.mark.slow
def test_umap_keeps_clusters_apart():
    pytest.importorskip("umap")
    vectors, centre = clusters(4, 20)
    points = project(vectors, "umap", seed=1)
    assert points.tobytes() == project(vectors, "umap", seed=1).tobytes()
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (centre[distances.argmin(1)] == centre).all()
    for few in (vectors[:4], vectors[:5], vectors[:, :1], np.ones((20, 5))):
        assert np.isfinite(project(few, "umap")).all()
