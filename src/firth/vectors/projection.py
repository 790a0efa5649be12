"""Word vectors in the plane, for maps: PCA, t-SNE and UMAP."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal

import numpy as np

from firth.errors import FirthError, unknown

How = Literal["pca", "tsne", "umap"]
EXACT = 2000  # words up to which our own t-SNE is quick enough: it looks at all pairs
FEW = 4  # fewer points than this have no neighbourhoods
_EARLY, _LATE, _EXAGGERATION = 250, 500, 12.0  # steps, and how much closer neighbours are pulled in the early ones
_BLOCK = 1 << 17  # pairs looked at in one go: they stay in the processor's cache
_NEIGHBOURS = 15  # of UMAP


def project(vectors: np.ndarray, how: How = "tsne", seed: int = 0, perplexity: float = 30.0) -> np.ndarray:
    """float64 (n, 2) from (n, width): the same seed gives the same points.

    Fewer than four vectors, or vectors that are all equal, are placed by PCA, however it was asked.
    `perplexity` is about how many neighbours a word keeps close in t-SNE; it is lowered where there are few words.
    """
    if how not in _WAYS:
        raise unknown("kind of map", how, _WAYS)
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim != 2 or not vectors.size:
        raise FirthError(f"no map of vectors of shape {vectors.shape}", do="give at least one word")
    if not np.isfinite(vectors).all():
        raise FirthError("a vector has NaN or an infinity in it", do="train it again")
    if not 1 <= perplexity < np.inf:
        raise FirthError(f"a perplexity of {perplexity:g}", do="give 1 or more; 5 to 50 are usual")
    if len(vectors) < FEW or not np.ptp(vectors, axis=0).any():
        return pca(vectors)
    points = np.asarray(_WAYS[how](vectors, seed, perplexity), np.float64)
    return pca(points)  # a map may be turned: here so that it is wide rather than high


def pca(vectors: np.ndarray) -> np.ndarray:
    """float64 (n, 2): along the two directions of most variance; the sign is fixed by each direction's largest part."""
    centred = vectors - vectors.mean(0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    largest = np.abs(directions).argmax(1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    points = np.zeros((len(vectors), 2))  # vectors of width 1, or one vector alone, have one direction
    points[:, : len(directions)] = centred @ directions.T * signs
    return points


# --- t-SNE (van der Maaten and Hinton, 2008) ---


def exact_tsne(vectors: np.ndarray, seed: int = 0, perplexity: float = 30.0) -> np.ndarray:
    """Every pair of points is looked at in every step."""
    wanted = affinities(vectors, perplexity).astype(np.float32)
    points = _start(vectors, seed)
    step, gains = np.zeros_like(points), np.ones_like(points)
    rate = len(points) / _EXAGGERATION  # Belkina et al. 2019; a higher one tears few points apart
    for turn in range(_EARLY + _LATE):
        early = turn < _EARLY
        slope = gradient(points, wanted, _EXAGGERATION if early else 1.0)
        gains = np.maximum(np.where(np.sign(slope) == np.sign(step), gains * 0.8, gains + 0.2), 0.01)  # Jacobs 1988
        step = (0.5 if early else 0.8) * step - rate * gains * slope
        points += step
        points -= points.mean(0)
    return points


def fitting(perplexity: float, n: int) -> float:
    """The perplexity, lowered for few points: three times as many others must be there."""
    return min(perplexity, max(2.0, (n - 1) / 3))


def affinities(vectors: np.ndarray, perplexity: float) -> np.ndarray:
    """(n, n), summing to 1: how much each pair wants to be close. Each row's perplexity is found by bisection."""
    n = len(vectors)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    wanted = np.log(fitting(perplexity, n))
    found = np.zeros((n, n))
    for rows in _blocks(n):
        distances = squares[rows, None] + squares - 2.0 * vectors[rows] @ vectors.T
        distances[np.arange(len(distances)), np.arange(n)[rows]] = np.inf
        found[rows] = _weights(np.maximum(distances, 0.0), wanted)
    found += found.T.copy()
    return found / found.sum()


def _weights(distances: np.ndarray, wanted: float) -> np.ndarray:
    """Rows that sum to 1, exp(-beta · distance) with each row's beta such that its entropy is as wanted."""
    distances = distances - distances.min(1, keepdims=True)
    others = np.isfinite(distances)
    distances[~others] = 0.0
    mean = distances.mean(1, keepdims=True)
    distances = (distances / np.where(mean > 0, mean, 1.0)).astype(np.float32)  # so that a beta of 1 is a fair guess
    low, high, beta = np.zeros(len(distances)), np.full(len(distances), np.inf), np.ones(len(distances))
    for _ in range(40):
        weights = np.exp(distances * -beta[:, None].astype(np.float32)) * others
        total = weights.sum(1, dtype=np.float64)
        entropy = np.log(total) + beta * np.einsum("ij,ij->i", weights, distances) / total
        wide = entropy > wanted
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    return weights / total[:, None]


def gradient(points: np.ndarray, wanted: np.ndarray, exaggeration: float = 1.0) -> np.ndarray:
    """The slope (n, 2) of the divergence KL(wanted ‖ closeness in the plane); `wanted` is symmetric."""
    n, total = len(points), 0.0
    across = np.concatenate([points.T, np.ones((1, n))]).astype(np.float32)  # (3, n): x, y and 1, each in one piece
    pulls, pushes = np.empty((n, 3)), np.empty((n, 3))  # sums over others of a weight times x, y and 1
    for rows in _blocks(n):
        closeness = np.subtract.outer(across[0, rows], across[0])
        closeness *= closeness
        other = np.subtract.outer(across[1, rows], across[1])
        other *= other
        closeness += other
        closeness += np.float32(1)
        np.reciprocal(closeness, out=closeness)
        closeness[np.arange(len(closeness)), np.arange(n)[rows]] = 0.0  # nobody is his own neighbour
        total += float(closeness.sum())
        pulls[rows] = np.multiply(wanted[rows], closeness, out=other) @ across.T
        closeness *= closeness
        pushes[rows] = closeness @ across.T
    forces = 4.0 * (exaggeration * pulls - pushes / total)
    return forces[:, 2:] * points - forces[:, :2]


def _blocks(n: int) -> list[slice]:
    step = max(1, _BLOCK // n)
    return [slice(low, min(low + step, n)) for low in range(0, n, step)]


def _start(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Small, in the shape of the PCA, which keeps far things apart; the noise parts equal points."""
    points = pca(vectors)
    points *= 1e-4 / (points[:, 0].std() or 1.0)
    return points + np.random.default_rng(seed).normal(0.0, 1e-6, points.shape)


# --- other packages ---


def _tsne(vectors: np.ndarray, seed: int, perplexity: float) -> np.ndarray:
    if len(vectors) <= EXACT:
        return exact_tsne(vectors, seed, perplexity)
    _require("openTSNE", f"t-SNE of more than {EXACT:,} words", "map fewer words")
    from openTSNE import TSNE

    perplexity = fitting(perplexity, len(vectors))
    return TSNE(perplexity=perplexity, initialization="pca", random_state=seed, n_jobs=1).fit(vectors)


def _umap(vectors: np.ndarray, seed: int, perplexity: float) -> np.ndarray:
    _require("umap", "UMAP", "take pca or tsne")
    from umap import UMAP

    if vectors.shape[1] == 1:
        vectors = np.pad(vectors, ((0, 0), (0, 1)))  # it starts from two directions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few words, one thread: both are meant
        mapper = UMAP(min(_NEIGHBOURS, len(vectors) - 1), init="pca", random_state=seed, n_jobs=1)
        return mapper.fit_transform(vectors)


def _require(package: str, what: str, otherwise: str) -> None:
    if not find_spec(package):
        raise FirthError(f"{what} needs another package", do=f'pip install "firth[maps]", or {otherwise}')


_WAYS: dict[str, Callable[[np.ndarray, int, float], np.ndarray]] = {
    "pca": lambda vectors, seed, perplexity: pca(vectors),
    "tsne": _tsne,
    "umap": _umap,
}
