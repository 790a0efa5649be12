"""Collocations: the words that co-occur with a node word within a window, ranked by an association measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from firth.corpus import association_measures
from firth.corpus.corpus_index import Index
from firth.corpus.query import Query, find_hits, parse_query
from firth.errors import FirthError, unknown

Side = Literal["left", "right", "both"]
PARTS = 10  # equal corpus parts, for dispersion
_POSITIONS = 1 << 21  # processed at once


class Collocate(NamedTuple):
    """A word that co-occurs with the node word."""

    word: str
    count: int  # joint frequency: occurrences within the windows of the hits
    total: int  # occurrences in the corpus
    expected: float  # joint frequency expected by chance
    score: float  # of the association measure
    dispersion: float  # Juilland's D of the joint frequency: 1 = evenly spread
    deviation: float  # Gries' DP (deviation of proportions) of the same: 0 = evenly spread


@dataclass(frozen=True)
class CollocateCounts:
    """Window co-occurrence counts. A position near two hits counts once; words of a hit only near another hit."""

    type_ids: np.ndarray  # (types,)
    parts: np.ndarray  # (types, PARTS) joint frequency in each corpus part
    window_tokens: int  # tokens within the windows
    hits: int

    @property
    def counts(self) -> np.ndarray:
        return self.parts.sum(1)


def collocations(
    index: Index,
    query: str | Query,
    *,
    window: int = 5,
    side: Side = "both",
    measure: str = "log-likelihood",
    min_count: int = 3,
    limit: int = 20,
) -> list[Collocate]:
    """The top collocates within `window` words of the hits, by `association_measures.MEASURES` or "dispersion"."""
    return rank_collocates(index, count_collocates(index, query, window=window, side=side), measure, min_count, limit)


def rank_collocates(
    index: Index, cooccurrences: CollocateCounts, measure: str = "log-likelihood", min_count: int = 3, limit: int = 20
) -> list[Collocate]:
    """The top collocates by a measure; ties by frequency, then alphabetically."""
    if measure != "dispersion" and measure not in association_measures.MEASURES:
        raise unknown("measure", measure, [*association_measures.MEASURES, "dispersion"])
    frequent = cooccurrences.counts >= max(min_count, 1)
    type_ids, parts = cooccurrences.type_ids[frequent], cooccurrences.parts[frequent]
    counts, totals = parts.sum(1), index.counts[type_ids]
    dispersion = association_measures.juilland_d(parts)
    deviation = association_measures.gries_dp(parts, association_measures.part_sizes(index.size, PARTS))
    table = (counts, cooccurrences.window_tokens, totals, index.size)
    score = dispersion if measure == "dispersion" else association_measures.MEASURES[measure](*table)
    expected = association_measures.expected(*table[1:])
    best = np.lexsort([type_ids, -counts, -score])[:limit]
    columns = (counts, totals, expected, score, dispersion, deviation)
    return [Collocate(index.types.word(type_ids[i]), *(column[i].item() for column in columns)) for i in best]


def count_collocates(index: Index, query: str | Query, *, window: int = 5, side: Side = "both") -> CollocateCounts:
    """Co-occurrence counts of all words within `window` words of the hits, in the same document."""
    if side not in ("left", "right", "both"):
        raise unknown("side", side, ("left", "right", "both"))
    if not 1 <= window <= 1000:
        raise FirthError(f"a window of {window} words", do="give 1 to 1000")
    query = parse_query(index, query) if isinstance(query, str) else query
    counter = _PartCounter(len(index.types))
    hits = 0
    before, after = window * (side != "right"), window * (side != "left")
    for num_hits, positions in _window_positions(index, query, before, after):
        hits += num_hits
        parts = association_measures.part_of(index.view_positions(positions), index.size, PARTS)
        counter.add(index.type_ids(index.ids[positions]), parts)
    return CollocateCounts(*counter.result(), hits)


def _window_positions(index: Index, query: Query, before: int, after: int) -> Iterator[tuple[int, np.ndarray]]:
    """The number of hits and the distinct positions within their windows, ascending, batch by batch.

    Windows of successive batches can overlap: positions from the first window of the next batch on are held back."""
    held_back = np.zeros(0, np.int64)
    batch_size = max(1, _POSITIONS // (before + after))
    for chunk in find_hits(index, query):
        for low in range(0, len(chunk), batch_size):
            hits = chunk[low : low + batch_size]
            positions = _distinct([held_back, *_windows(index, hits, len(query), before, after)])
            complete = np.searchsorted(positions, hits[-1] - before)  # no later hit's window starts before this
            yield len(hits), positions[:complete]
            held_back = positions[complete:]
    yield 0, held_back


def _distinct(lists: list[np.ndarray]) -> np.ndarray:
    """The distinct positions of all lists, ascending."""
    lists = [positions for positions in lists if len(positions)]
    if not lists:
        return np.zeros(0, np.int64)
    low, high = min(positions.min() for positions in lists), max(positions.max() for positions in lists)
    if high - low > 32 * sum(map(len, lists)):
        return np.unique(np.concatenate(lists))
    present = np.zeros(high - low + 1, bool)  # dense: a bit map is faster than sorting
    for positions in lists:
        present[positions - low] = True
    return np.flatnonzero(present) + low


def _windows(index: Index, hits: np.ndarray, length: int, before: int, after: int) -> Iterator[np.ndarray]:
    """The positions at each offset from the hits, within their documents."""
    document = index.document_of(hits)
    low, high = index.document_starts[document], index.document_starts[document + 1]
    for offset in (*range(-before, 0), *range(length, length + after)):
        positions = hits + offset
        yield positions[positions >= low] if offset < 0 else positions[positions < high]


class _PartCounter:
    """Counts of (type, part), aggregated now and then so that memory grows with the number of types only."""

    def __init__(self, num_types: int) -> None:
        self.num_types, self.total = num_types, 0
        self._keys: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []

    def add(self, type_ids: np.ndarray, parts: np.ndarray) -> None:
        """Count tokens by type and by corpus part; the parts are ascending."""
        self.total += len(type_ids)
        edges = np.searchsorted(parts, np.arange(PARTS + 1))
        for part in range(PARTS):
            types, counts = _count_types(type_ids[edges[part] : edges[part + 1]], self.num_types)
            self._keys.append(types.astype(np.int64) * PARTS + part)
            self._counts.append(counts)
        if sum(map(len, self._keys)) > 2 * _POSITIONS:
            self._aggregate()

    def _aggregate(self) -> None:
        keys, inverse = np.unique(np.concatenate([np.zeros(0, np.int64), *self._keys]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([np.zeros(0), *self._counts]), len(keys))
        self._keys, self._counts = [keys], [counts.astype(np.int64)]

    def result(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The type ids, their counts in every part, and the total count."""
        self._aggregate()
        type_ids, row = np.unique(self._keys[0] // PARTS, return_inverse=True)
        parts = np.zeros((len(type_ids), PARTS), np.int64)
        parts[row, self._keys[0] % PARTS] = self._counts[0]
        return type_ids, parts, self.total


def _count_types(type_ids: np.ndarray, num_types: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct types and their counts: by a dense table for many tokens, by sorting for few."""
    if len(type_ids) * 8 < num_types:
        return np.unique(type_ids, return_counts=True)
    counts = np.bincount(type_ids, minlength=num_types)
    present = np.flatnonzero(counts)
    return present, counts[present]
