"""PCA against the singular value decomposition; t-SNE against its definition and scikit-learn's; other packages."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._t_sne import _joint_probabilities

from firth.errors import FirthError
from firth.vectors import projection
from firth.vectors.projection import affinities, fitting, gradient, pca, project


def clusters(number=4, each=20, width=12, seed=0):
    """Points around far centres, and the number of the centre of each."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(number, width)) * 6
    return (centres[:, None] + draw.normal(size=(number, each, width))).reshape(-1, width), np.arange(number).repeat(
        each
    )


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


def divergence(points, wanted):
    """The definition (van der Maaten and Hinton 2008, eqs. 4 and 5), without any shortcut."""
    closeness = 1 / (1 + ((points[:, None] - points) ** 2).sum(2))
    np.fill_diagonal(closeness, 0)
    share = closeness / closeness.sum()
    some = wanted > 0
    return float((wanted[some] * np.log(wanted[some] / share[some])).sum())


@pytest.mark.parametrize("perplexity", [2.0, 5.0, 20.0])
def test_affinities_are_scikit_learns(perplexity):
    vectors, _ = clusters()
    squares = ((vectors[:, None] - vectors) ** 2).sum(2).astype(np.float32)
    expected = _joint_probabilities(squares, perplexity, 0)
    found = affinities(vectors, perplexity)
    np.testing.assert_allclose(found[np.triu_indices(len(vectors), 1)], expected, atol=2e-7)
    assert found.sum() == pytest.approx(1)
    assert not np.diag(found).any()


def test_the_perplexity_is_lowered_for_few_points():
    vectors, _ = clusters(2, 5)
    assert fitting(30, 10) == 3
    np.testing.assert_array_equal(affinities(vectors, 30), affinities(vectors, 3))


@pytest.mark.parametrize("exaggeration", [1.0, 12.0])
def test_the_gradient_is_the_slope_of_the_divergence(monkeypatch, exaggeration):
    monkeypatch.setattr(projection, "_BLOCK", 50)  # several blocks
    vectors, _ = clusters(2, 7)
    wanted, points = affinities(vectors, 4), np.random.default_rng(1).normal(size=(14, 2))
    found = gradient(points, wanted, exaggeration)

    def energy(at):  # exaggeration weighs the pulling part of the divergence only
        closeness = 1 / (1 + ((at[:, None] - at) ** 2).sum(2))
        np.fill_diagonal(closeness, 0)
        some = wanted > 0
        return -exaggeration * (wanted[some] * np.log(closeness[some])).sum() + np.log(closeness.sum())

    for place in np.ndindex(points.shape):
        little = np.zeros_like(points)
        little[place] = 1e-5
        slope = (energy(points + little) - energy(points - little)) / 2e-5
        assert found[place] == pytest.approx(slope, abs=1e-5)
    if exaggeration == 1:
        constant = (wanted[wanted > 0] * np.log(wanted[wanted > 0])).sum()
        assert energy(points) + constant == pytest.approx(divergence(points, wanted))


def test_tsne_keeps_clusters_apart_and_neighbours_near():
    vectors, centre = clusters(5, 24)
    points = project(vectors, "tsne")
    far = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(far, np.inf)
    assert (centre[far.argmin(1)] == centre).all()
    peer = TSNE(init="pca", random_state=0).fit_transform(vectors)
    assert trustworthiness(vectors, points, n_neighbors=10) > trustworthiness(vectors, peer, n_neighbors=10) - 0.02


def test_tsne_goes_as_low_as_scikit_learns():
    vectors = np.random.default_rng(3).normal(size=(150, 6))
    peer = TSNE(init="pca", random_state=0, method="exact", max_iter=750).fit_transform(vectors)
    wanted = affinities(vectors, 30)
    assert divergence(project(vectors, "tsne"), wanted) < divergence(peer.astype(np.float64), wanted) + 0.05


def test_the_same_seed_gives_the_same_bytes():
    vectors, _ = clusters(3, 10)
    assert project(vectors, "tsne", seed=4).tobytes() == project(vectors, "tsne", seed=4).tobytes()
    assert project(vectors, "tsne", seed=4).tobytes() != project(vectors, "tsne", seed=5).tobytes()


@pytest.mark.parametrize("how", ["pca", "tsne"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_few_points_have_a_map(how, size):
    vectors = np.random.default_rng(size).normal(size=(size, 5))
    points = project(vectors, how)
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
    "vectors, more, said",
    [
        (np.zeros((0, 5)), {}, "shape (0, 5)"),
        (np.zeros(5), {}, "shape (5,)"),
        (np.full((9, 3), np.nan), {}, "NaN"),
        (np.ones((9, 3)), {"how": "tnse"}, "did you mean 'tsne'?"),
        (np.ones((9, 3)), {"perplexity": 0.0}, "a perplexity of 0"),
        (np.ones((9, 3)), {"perplexity": float("nan")}, "a perplexity of nan"),
    ],
)
def test_bad_input_is_one_clear_line(vectors, more, said):
    with pytest.raises(FirthError) as raised:
        project(vectors, **more)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


# --- other packages ---


@pytest.mark.parametrize("how, size", [("umap", 10), ("tsne", projection.EXACT + 1)])
def test_a_package_that_is_missing_is_named(monkeypatch, how, size):
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    with pytest.raises(FirthError, match='pip install "firth\\[maps\\]"'):
        project(np.random.default_rng(0).normal(size=(size, 2)), how)


def test_many_words_are_left_to_opentsne(monkeypatch):
    pytest.importorskip("openTSNE")
    vectors, _ = clusters(4, 30)
    monkeypatch.setattr(projection, "EXACT", 100)
    monkeypatch.setattr(projection, "exact_tsne", lambda *_: pytest.fail("ours was used"))
    points = project(vectors, "tsne", seed=2)
    assert trustworthiness(vectors, points, n_neighbors=8) > 0.9
    assert points.tobytes() == project(vectors, "tsne", seed=2).tobytes()


def test_umap_is_asked_for_one_thread_a_seed_and_no_more_neighbours_than_there_are(monkeypatch):
    """UMAP itself takes many seconds to compile: here a stand-in that keeps what it is asked."""
    asked = []

    class Mapper:
        def __init__(self, neighbours, **options):
            asked.append((neighbours, options["random_state"], options["n_jobs"]))

        def fit_transform(self, vectors):
            return vectors[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Mapper, __spec__=SimpleNamespace()))
    assert project(clusters(1, 6)[0], "umap", seed=7).shape == (6, 2)
    project(clusters(2, 20)[0], "umap", seed=8)
    assert asked == [(5, 7, 1), (15, 8, 1)]


@pytest.mark.slow
def test_umap_keeps_clusters_apart():
    pytest.importorskip("umap")
    vectors, centre = clusters(4, 20)
    points = project(vectors, "umap", seed=1)
    assert points.tobytes() == project(vectors, "umap", seed=1).tobytes()
    far = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(far, np.inf)
    assert (centre[far.argmin(1)] == centre).all()
    for few in (vectors[:4], vectors[:5], vectors[:, :1], np.ones((20, 5))):
        assert np.isfinite(project(few, "umap")).all()
