"""Nearest-neighbour search by cosine: exact in blocks of bounded memory, or approximate (ANN) with an IVF or HNSW
index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np

from firth.errors import FirthError, unknown

BLOCK = 16_384  # rows compared at a time
MAX_SCORES = 1 << 24  # scores in memory at a time, for any number of queries
_KMEANS_ITERATIONS = 8  # more hardly change the assignment of rows to lists
_SAMPLE_PER_LIST = 64  # training rows of k-means per list


class Neighbours(NamedTuple):
    """For each query the row indices of its neighbours and their scores, best first; ties by index."""

    indices: np.ndarray  # int64 (queries, count)
    scores: np.ndarray  # float32 (queries, count)


class Index(Protocol):
    """An approximate nearest-neighbour index."""

    def nearest(self, queries: np.ndarray, count: int) -> Neighbours: ...


def nearest(
    unit: np.ndarray, queries: np.ndarray, count: int, block: int = BLOCK, norms: np.ndarray | None = None
) -> Neighbours:
    """Exact search: the rows with the largest dot products with each query, divided by the rows' `norms` if given."""
    queries = np.atleast_2d(np.asarray(queries, np.float32))
    parts = []
    for low in range(0, len(queries), group := max(1, MAX_SCORES // max(1, min(block, len(unit))))):
        batch = queries[low : low + group].T  # (width, queries)

        def score(start: int, stop: int, batch: np.ndarray = batch) -> np.ndarray:
            products = np.asarray(unit[start:stop]) @ batch
            return products.T if norms is None else products.T / norms[start:stop]

        parts.append(top_k_blocks(score, len(unit), count, block))
    if not parts:
        return Neighbours(np.empty((0, 0), np.int64), np.empty((0, 0), np.float32))
    return Neighbours(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def top_k_blocks(score: Callable[[int, int], np.ndarray], size: int, k: int, block: int = BLOCK) -> Neighbours:
    """The top k of `size` rows, where `score(start, stop)` computes the scores (queries, rows) of a block."""
    best_indices, best_scores = None, None
    for start in range(0, max(1, size), block):
        block_scores = score(start, min(start + block, size))
        chosen = top_k(block_scores, k)
        indices, scores = chosen + start, np.take_along_axis(block_scores, chosen, axis=1)
        if best_indices is not None:
            indices, scores = np.concatenate([best_indices, indices], 1), np.concatenate([best_scores, scores], 1)
            chosen = top_k(scores, k)  # rows of earlier blocks come first, so ties stay in order
            indices, scores = np.take_along_axis(indices, chosen, 1), np.take_along_axis(scores, chosen, 1)
        best_indices, best_scores = indices, scores
    return Neighbours(best_indices, best_scores)


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k largest scores of each row, in descending order; ties by column."""
    k = max(0, min(k, scores.shape[1]))
    if k == 0 or 4 * k >= scores.shape[1]:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    chosen = np.sort(np.argpartition(scores, -k, axis=1)[:, -k:], axis=1)
    values = np.take_along_axis(scores, chosen, axis=1)
    for row in np.flatnonzero((scores >= values.min(1, keepdims=True)).sum(1) > k):  # ties were left out
        chosen[row] = np.sort(np.argsort(-scores[row], kind="stable")[:k])
        values[row] = scores[row, chosen[row]]
    return np.take_along_axis(chosen, np.argsort(-values, axis=1, kind="stable"), axis=1)


def build_index(unit: np.ndarray, method: Literal["ivf", "hnsw"] = "ivf", seed: int = 0) -> Index:
    """An index of unit vectors: `ivf` is our own, `hnsw` usearch's (slower to build, faster to search)."""
    if method not in INDEXES:
        raise unknown("index", method, INDEXES)
    return INDEXES[method](unit, seed)


class IVFIndex:
    """Inverted file (IVF): rows in lists by their nearest centroid (Sivic and Zisserman 2003); a query searches the
    lists of its `nprobe` nearest centroids."""

    def __init__(self, unit: np.ndarray, seed: int = 0) -> None:
        n_lists = max(1, min(len(unit), int(2 * np.sqrt(len(unit)))))
        self.centroids = _centroids(unit, n_lists, seed)
        assigned = np.concatenate([np.empty(0, np.int64), *_assign(unit, self.centroids)])
        self.rows = np.argsort(assigned, kind="stable")  # row indices, list by list
        self.first = np.searchsorted(assigned[self.rows], np.arange(n_lists + 1))
        self.unit = unit[self.rows]  # so that a list is contiguous in memory
        self.nprobe = min(n_lists, max(8, n_lists // 12))  # more raise the recall and take longer

    def nearest(self, queries: np.ndarray, count: int) -> Neighbours:
        """The nearest rows in the probed lists; -1 and -inf where these have fewer."""
        queries = np.atleast_2d(np.asarray(queries, np.float32))
        count = min(count, len(self.unit))
        result = Neighbours(np.full((len(queries), count), -1), np.full((len(queries), count), -np.inf, np.float32))
        probed = top_k(queries @ self.centroids.T, self.nprobe)
        for number, query in enumerate(queries):
            lists = [slice(self.first[n], self.first[n + 1]) for n in probed[number]]
            scores = np.concatenate([self.unit[rows] @ query for rows in lists])
            indices = np.concatenate([self.rows[rows] for rows in lists])
            chosen = top_k(scores[None], count)[0]
            result.indices[number, : len(chosen)], result.scores[number, : len(chosen)] = (
                indices[chosen],
                scores[chosen],
            )
        return result


def _centroids(unit: np.ndarray, n_lists: int, seed: int) -> np.ndarray:
    """Spherical k-means over a sample; a centroid that loses all its rows stays where it was."""
    random = np.random.Generator(np.random.Philox(seed))
    sample = unit[np.sort(random.choice(len(unit), min(len(unit), n_lists * _SAMPLE_PER_LIST), replace=False))]
    centroids = sample[random.choice(len(sample), n_lists, replace=False)].copy()
    for _ in range(_KMEANS_ITERATIONS):
        assigned = np.concatenate(list(_assign(sample, centroids)))
        order = np.argsort(assigned, kind="stable")
        nonempty, first = np.unique(assigned[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        centroids[nonempty] = np.where(norms > 0, sums / np.maximum(norms, 1e-30), centroids[nonempty])
    return centroids


def _assign(unit: np.ndarray, centroids: np.ndarray):
    """The nearest centroid of each row, a block at a time."""
    for low in range(0, len(unit), BLOCK):
        yield (unit[low : low + BLOCK] @ centroids.T).argmax(axis=1)


class HNSWIndex:
    """Hierarchical navigable small world graph (HNSW; Malkov and Yashunin 2016), by usearch."""

    def __init__(self, unit: np.ndarray, seed: int = 0) -> None:  # usearch samples the levels itself
        try:
            from usearch.index import Index as Inner
        except ImportError:
            what = "an HNSW index needs the package usearch"
            raise FirthError(what, do='pip install "firth[neighbours]"') from None
        self._size = len(unit)
        self._inner = Inner(ndim=unit.shape[1], metric="ip", dtype="f32")
        self._inner.add(np.arange(len(unit)), np.ascontiguousarray(unit))

    def nearest(self, queries: np.ndarray, count: int) -> Neighbours:
        """The nearest rows found by the graph; -1 and -inf where it finds fewer."""
        queries = np.atleast_2d(np.asarray(queries, np.float32))
        matches = self._inner.search(queries, min(count, self._size))
        indices = np.asarray(matches.keys).astype(np.int64).reshape(len(queries), -1)
        scores = (1 - np.asarray(matches.distances, np.float32)).reshape(len(queries), -1)
        missing = np.arange(indices.shape[1]) >= np.atleast_1d(getattr(matches, "counts", indices.shape[1]))[:, None]
        return Neighbours(np.where(missing, -1, indices), np.where(missing, np.float32(-np.inf), scores))


INDEXES: dict[str, Callable[[np.ndarray, int], Index]] = {"ivf": IVFIndex, "hnsw": HNSWIndex}
