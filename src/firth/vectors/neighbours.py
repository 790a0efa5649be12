"""Nearest rows by cosine: exactly, in blocks of bounded memory, or quickly through an index that may miss some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np

from firth.errors import FirthError, unknown

BLOCK = 16_384  # rows that are compared at a time
SCORES = 1 << 24  # scores that are held at a time, for however many queries
_PASSES = 8  # of k-means: more hardly change which list a row is in
_SAMPLE = 64  # rows per list that k-means looks at


class Found(NamedTuple):
    """For each query the numbers of rows and their scores, the best first; equal ones by number."""

    rows: np.ndarray  # int64 (queries, count)
    scores: np.ndarray  # float32 (queries, count)


class Index(Protocol):
    """What quick search offers."""

    def nearest(self, queries: np.ndarray, count: int) -> Found: ...


def nearest(
    unit: np.ndarray, queries: np.ndarray, count: int, block: int = BLOCK, lengths: np.ndarray | None = None
) -> Found:
    """The rows with the largest products with each query, divided by the rows' `lengths` if these are given."""
    queries = np.atleast_2d(np.asarray(queries, np.float32))
    parts = []
    for low in range(0, len(queries), group := max(1, SCORES // max(1, min(block, len(unit))))):
        some = queries[low : low + group].T  # (width, queries)

        def score(start: int, stop: int, some: np.ndarray = some) -> np.ndarray:
            found = np.asarray(unit[start:stop]) @ some
            return found.T if lengths is None else found.T / lengths[start:stop]

        parts.append(best(score, len(unit), count, block))
    if not parts:
        return Found(np.empty((0, 0), np.int64), np.empty((0, 0), np.float32))
    return Found(np.concatenate([part.rows for part in parts]), np.concatenate([part.scores for part in parts]))


def best(score: Callable[[int, int], np.ndarray], size: int, count: int, block: int = BLOCK) -> Found:
    """The best of `size` rows where `score(start, stop)` gives the scores (queries, rows) of a block."""
    rows, scores = None, None
    for start in range(0, max(1, size), block):
        part = score(start, min(start + block, size))
        chosen = top(part, count)
        here, found = chosen + start, np.take_along_axis(part, chosen, axis=1)
        if rows is not None:
            here, found = np.concatenate([rows, here], 1), np.concatenate([scores, found], 1)
            chosen = top(found, count)  # rows of earlier blocks stand first, so equal ones stay in order
            here, found = np.take_along_axis(here, chosen, 1), np.take_along_axis(found, chosen, 1)
        rows, scores = here, found
    return Found(rows, scores)


def top(scores: np.ndarray, count: int) -> np.ndarray:
    """The columns of the largest scores of each row, the largest first; of equal ones the first."""
    count = max(0, min(count, scores.shape[1]))
    if count == 0 or 4 * count >= scores.shape[1]:
        return np.argsort(-scores, axis=1, kind="stable")[:, :count]
    chosen = np.sort(np.argpartition(scores, -count, axis=1)[:, -count:], axis=1)
    found = np.take_along_axis(scores, chosen, axis=1)
    for row in np.flatnonzero((scores >= found.min(1, keepdims=True)).sum(1) > count):  # equals were left out
        chosen[row] = np.sort(np.argsort(-scores[row], kind="stable")[:count])
        found[row] = scores[row, chosen[row]]
    return np.take_along_axis(chosen, np.argsort(-found, axis=1, kind="stable"), axis=1)


def approximate(unit: np.ndarray, how: Literal["lists", "graph"] = "lists", seed: int = 0) -> Index:
    """An index of rows of length 1: our own lists, or usearch's graph (slower to make, quicker to ask)."""
    if how not in INDEXES:
        raise unknown("index", how, INDEXES)
    return INDEXES[how](unit, seed)


class Lists:
    """Rows in lists around centres (Sivic and Zisserman 2003); a query looks through those of the nearest centres."""

    def __init__(self, unit: np.ndarray, seed: int = 0) -> None:
        count = max(1, min(len(unit), int(2 * np.sqrt(len(unit)))))
        self.centres = _centres(unit, count, seed)
        owner = np.concatenate([np.empty(0, np.int64), *(part for part in _owners(unit, self.centres))])
        self.rows = np.argsort(owner, kind="stable")  # row numbers, list after list
        self.first = np.searchsorted(owner[self.rows], np.arange(count + 1))
        self.unit = unit[self.rows]  # so that a list is one piece of memory
        self.probes = min(count, max(8, count // 12))  # more find more, and take longer

    def nearest(self, queries: np.ndarray, count: int) -> Found:
        """The nearest rows in the lists that are looked through; -1 and -inf where these have fewer."""
        queries = np.atleast_2d(np.asarray(queries, np.float32))
        count = min(count, len(self.unit))
        found = Found(np.full((len(queries), count), -1), np.full((len(queries), count), -np.inf, np.float32))
        lists = top(queries @ self.centres.T, self.probes)
        for number, query in enumerate(queries):
            places = [slice(self.first[one], self.first[one + 1]) for one in lists[number]]
            scores = np.concatenate([self.unit[place] @ query for place in places])
            rows = np.concatenate([self.rows[place] for place in places])
            chosen = top(scores[None], count)[0]
            found.rows[number, : len(chosen)], found.scores[number, : len(chosen)] = rows[chosen], scores[chosen]
        return found


def _centres(unit: np.ndarray, count: int, seed: int) -> np.ndarray:
    """K-means on the sphere, over a sample; a centre that loses all its rows stays where it was."""
    draw = np.random.Generator(np.random.Philox(seed))
    sample = unit[np.sort(draw.choice(len(unit), min(len(unit), count * _SAMPLE), replace=False))]
    centres = sample[draw.choice(len(sample), count, replace=False)].copy()
    for _ in range(_PASSES):
        owner = np.concatenate(list(_owners(sample, centres)))
        order = np.argsort(owner, kind="stable")
        owned, first = np.unique(owner[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[owned] = np.where(lengths > 0, sums / np.maximum(lengths, 1e-30), centres[owned])
    return centres


def _owners(unit: np.ndarray, centres: np.ndarray):
    """The nearest centre of each row, a block at a time."""
    for low in range(0, len(unit), BLOCK):
        yield (unit[low : low + BLOCK] @ centres.T).argmax(axis=1)


class Graph:
    """usearch's graph of near rows (Malkov and Yashunin 2016)."""

    def __init__(self, unit: np.ndarray, seed: int = 0) -> None:  # usearch draws its levels itself
        try:
            from usearch.index import Index as Inner
        except ImportError:
            raise FirthError(
                "a graph of neighbours needs another package", do="pip install 'firth[neighbours]'"
            ) from None
        self._size = len(unit)
        self._inner = Inner(ndim=unit.shape[1], metric="ip", dtype="f32")
        self._inner.add(np.arange(len(unit)), np.ascontiguousarray(unit))

    def nearest(self, queries: np.ndarray, count: int) -> Found:
        """The nearest rows the graph leads to; -1 and -inf where it leads to fewer."""
        queries = np.atleast_2d(np.asarray(queries, np.float32))
        matches = self._inner.search(queries, min(count, self._size))
        rows = np.asarray(matches.keys).astype(np.int64).reshape(len(queries), -1)
        scores = (1 - np.asarray(matches.distances, np.float32)).reshape(len(queries), -1)
        short = np.arange(rows.shape[1]) >= np.atleast_1d(getattr(matches, "counts", rows.shape[1]))[:, None]
        return Found(np.where(short, -1, rows), np.where(short, np.float32(-np.inf), scores))


INDEXES: dict[str, Callable[[np.ndarray, int], Index]] = {"lists": Lists, "graph": Graph}
