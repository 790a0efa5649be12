"""The company a word keeps: which words stand near it more often than by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from firth.counts import measures
from firth.counts.index import Index
from firth.counts.query import Query, hits, parse
from firth.errors import FirthError, unknown

Side = Literal["left", "right", "both"]
PARTS = 10  # equal stretches of the text, for dispersion
_PLACES = 1 << 21  # looked at in one go


class Collocate(NamedTuple):
    """One word of the company."""

    word: str
    count: int  # places near the hits where it stands
    total: int  # places anywhere
    expected: float  # what the count would be by chance
    score: float  # by the measure asked for
    dispersion: float  # Juilland's D of the count: 1 = evenly through the text
    deviation: float  # Gries' DP of the same: 0 = evenly


@dataclass(frozen=True)
class Company:
    """The places near the hits, by word. A place near two hits counts once; words of a hit count near another only."""

    names: np.ndarray  # (words,)
    parts: np.ndarray  # (words, PARTS) how often in each part of the text
    near: int  # places near the hits
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
    """The best words within `window` words of the hits, by a measure (`measures.MEASURES`, or dispersion)."""
    return rank(index, company(index, query, window=window, side=side), measure, min_count, limit)


def rank(
    index: Index, found: Company, measure: str = "log-likelihood", min_count: int = 3, limit: int = 20
) -> list[Collocate]:
    """The company in the order of a measure; equal ones by count, then alphabet."""
    if measure != "dispersion" and measure not in measures.MEASURES:
        raise unknown("measure", measure, [*measures.MEASURES, "dispersion"])
    kept = found.counts >= max(min_count, 1)
    names, parts = found.names[kept], found.parts[kept]
    counts, totals = parts.sum(1), index.counts[names]
    spread = measures.juilland(parts)
    uneven = measures.gries(parts, measures.part_sizes(index.size, PARTS))
    table = (counts, found.near, totals, index.size)
    score = spread if measure == "dispersion" else measures.MEASURES[measure](*table)
    chance = measures.expected(*table[1:])
    best = np.lexsort([names, -counts, -score])[:limit]
    columns = (counts, totals, chance, score, spread, uneven)
    return [Collocate(index.names.word(names[i]), *(column[i].item() for column in columns)) for i in best]


def company(index: Index, query: str | Query, *, window: int = 5, side: Side = "both") -> Company:
    """All words within `window` words of the hits, in the same document."""
    if side not in ("left", "right", "both"):
        raise unknown("side", side, ("left", "right", "both"))
    if not 1 <= window <= 1000:
        raise FirthError(f"a window of {window} words", do="give 1 to 1000")
    query = parse(index, query) if isinstance(query, str) else query
    tally = _Tally(len(index.names))
    seen = 0
    before, after = window * (side != "right"), window * (side != "left")
    for found, places in _places(index, query, before, after):
        seen += found
        part = measures.part_of(index.rank(places), index.size, PARTS)
        tally.add(index.named(index.ids[places]), part)
    return Company(*tally.result(), seen)


def _places(index: Index, query: Query, before: int, after: int) -> Iterator[tuple[int, np.ndarray]]:
    """How many hits there are, and the places near them, ascending, each once; some at a time.

    Windows of different lots of hits can overlap: places from the first window of the next lot on are held back."""
    held = np.zeros(0, np.int64)
    lot = max(1, _PLACES // (before + after))
    for chunk in hits(index, query):
        for low in range(0, len(chunk), lot):
            found = chunk[low : low + lot]
            places = _distinct([held, *_windows(index, found, len(query), before, after)])
            safe = np.searchsorted(places, found[-1] - before)  # no later hit's window begins before
            yield len(found), places[:safe]
            held = places[safe:]
    yield 0, held


def _distinct(lists: list[np.ndarray]) -> np.ndarray:
    """The places of all lists, ascending, each once."""
    lists = [places for places in lists if len(places)]
    if not lists:
        return np.zeros(0, np.int64)
    low, high = min(places.min() for places in lists), max(places.max() for places in lists)
    if high - low > 32 * sum(map(len, lists)):
        return np.unique(np.concatenate(lists))
    there = np.zeros(high - low + 1, bool)  # close together: marking them is faster than sorting
    for places in lists:
        there[places - low] = True
    return np.flatnonzero(there) + low


def _windows(index: Index, found: np.ndarray, length: int, before: int, after: int) -> Iterator[np.ndarray]:
    """The places near each hit, within its document."""
    document = index.document_of(found)
    low, high = index.documents[document], index.documents[document + 1]
    for step in (*range(-before, 0), *range(length, length + after)):
        places = found + step
        yield places[places >= low] if step < 0 else places[places < high]


class _Tally:
    """Counts of (name, part), summed up now and then so that memory depends on different words only."""

    def __init__(self, names: int) -> None:
        self.size, self.near = names, 0
        self._keys: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []

    def add(self, names: np.ndarray, parts: np.ndarray) -> None:
        """Names and the parts they stand in, which ascend."""
        self.near += len(names)
        edges = np.searchsorted(parts, np.arange(PARTS + 1))
        for part in range(PARTS):
            found, counts = _counted(names[edges[part] : edges[part + 1]], self.size)
            self._keys.append(found.astype(np.int64) * PARTS + part)
            self._counts.append(counts)
        if sum(map(len, self._keys)) > 2 * _PLACES:
            self._sum_up()

    def _sum_up(self) -> None:
        keys, place = np.unique(np.concatenate([np.zeros(0, np.int64), *self._keys]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([np.zeros(0), *self._counts]), len(keys))
        self._keys, self._counts = [keys], [counts.astype(np.int64)]

    def result(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The names, their counts in every part, and the sum of all."""
        self._sum_up()
        names, row = np.unique(self._keys[0] // PARTS, return_inverse=True)
        parts = np.zeros((len(names), PARTS), np.int64)
        parts[row, self._keys[0] % PARTS] = self._counts[0]
        return names, parts, self.near


def _counted(names: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Different names and how often each occurs; of many by a table, of few by sorting."""
    if len(names) * 8 < size:
        return np.unique(names, return_counts=True)
    counts = np.bincount(names, minlength=size)
    found = np.flatnonzero(counts)
    return found, counts[found]
