"""2-D projections of word vectors for maps: PCA, t-SNE (openTSNE) and UMAP (umap-learn)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal

import numpy as np

from firth.errors import FirthError, unknown

Method = Literal["pca", "tsne", "umap"]
MIN_POINTS = 4  # fewer points have no neighbourhoods: they are projected by PCA
PACKAGES = {"tsne": "openTSNE", "umap": "umap"}  # of the extra `maps`
_UMAP_NEIGHBOURS = 15


def project(
    vectors: np.ndarray, method: Method | None = None, seed: int = 0, perplexity: float = 30.0
) -> np.ndarray:
    """float64 (n, 2) from (n, width), deterministic for a seed; by `default_method()` unless a method is named.

    Fewer than four vectors, or vectors that are all equal, are projected by PCA with any method.
    `perplexity` is about the number of neighbours that t-SNE preserves; it is lowered for few points.
    """
    method = method or default_method()
    if method not in _METHODS:
        raise unknown("projection method", method, _METHODS)
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim != 2 or not vectors.size:
        raise FirthError(f"no projection of vectors of shape {vectors.shape}", do="give at least one word")
    if not np.isfinite(vectors).all():
        raise FirthError("a vector has NaN or an infinity in it", do="train it again")
    if not 1 <= perplexity < np.inf:
        raise FirthError(f"a perplexity of {perplexity:g}", do="give 1 or more; 5 to 50 are usual")
    if len(vectors) < MIN_POINTS or not np.ptp(vectors, axis=0).any():
        return pca(vectors)
    points = np.asarray(_METHODS[method](vectors, seed, perplexity), np.float64)
    return pca(points)  # rotated so that the map is wide rather than high


def default_method() -> Method:
    """t-SNE, or PCA where its package is not installed."""
    return "tsne" if is_available("tsne") else "pca"


def is_available(method: Method) -> bool:
    """Whether the package of a projection method is installed."""
    return method not in PACKAGES or find_spec(PACKAGES[method]) is not None


def pca(vectors: np.ndarray) -> np.ndarray:
    """float64 (n, 2): the two principal components; the sign is fixed by each component's largest entry."""
    centered = vectors - vectors.mean(0)
    components = np.linalg.svd(centered, full_matrices=False)[2][:2]
    largest = np.abs(components).argmax(1)
    signs = np.sign(components[np.arange(len(components)), largest])
    points = np.zeros((len(vectors), 2))  # vectors of width 1, or a single vector, have one component
    points[:, : len(components)] = centered @ components.T * signs
    return points


def effective_perplexity(perplexity: float, n: int) -> float:
    """The perplexity, lowered for few points: t-SNE needs three times as many neighbours."""
    return min(perplexity, max(1.0, (n - 1) / 3))


def _tsne(vectors: np.ndarray, seed: int, perplexity: float) -> np.ndarray:
    """t-SNE (van der Maaten and Hinton 2008)."""
    _require("tsne", "t-SNE", "use pca")
    from openTSNE import TSNE

    vectors = vectors / np.abs(vectors).max()  # t-SNE does not depend on the scale, floating-point squares do
    perplexity = effective_perplexity(perplexity, len(vectors))
    tsne = TSNE(perplexity=perplexity, initialization=_initial_points(vectors, seed), random_state=seed, n_jobs=1)
    return tsne.fit(vectors)


def _initial_points(vectors: np.ndarray, seed: int) -> np.ndarray:
    """A small PCA, which preserves the global structure (Kobak and Berens 2019); noise separates equal points."""
    points = pca(vectors)
    points *= 1e-4 / (points[:, 0].std() or 1.0)
    return points + np.random.default_rng(seed).normal(0.0, 1e-6, points.shape)


def _umap(vectors: np.ndarray, seed: int, perplexity: float) -> np.ndarray:
    """UMAP (McInnes, Healy and Melville 2018)."""
    _require("umap", "UMAP", "use pca or tsne")
    from umap import UMAP

    if vectors.shape[1] == 1:
        vectors = np.pad(vectors, ((0, 0), (0, 1)))  # its PCA initialisation needs two dimensions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few words and one thread are intended
        reducer = UMAP(min(_UMAP_NEIGHBOURS, len(vectors) - 1), init="pca", random_state=seed, n_jobs=1)
        return reducer.fit_transform(vectors)


def _require(method: Method, name: str, otherwise: str) -> None:
    if not is_available(method):
        what = f"{name} needs the package {PACKAGES[method]}"
        raise FirthError(what, do=f'pip install "firth[maps]", or {otherwise}')


_METHODS: dict[str, Callable[[np.ndarray, int, float], np.ndarray]] = {
    "pca": lambda vectors, seed, perplexity: pca(vectors),
    "tsne": _tsne,
    "umap": _umap,
}
