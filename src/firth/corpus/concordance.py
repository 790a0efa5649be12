"""Concordances (keyword in context, KWIC): the hits of a query with their context, sorted or sampled in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firth.corpus.corpus_index import Index
from firth.corpus.display_width import display_width, pad, sanitise, truncate, truncate_left
from firth.corpus.query import Query, find_hits, parse_query
from firth.errors import FirthError, unknown

Sort = Literal["position", "left", "right"]


@dataclass(frozen=True)
class ConcordanceLine:
    """One hit: the left context, the matched words, the right context, and the document's metadata."""

    left: str
    word: str
    right: str
    position: int
    document: int
    values: dict[str, str]


@dataclass(frozen=True)
class Concordance:
    """Concordance lines of a query, which has `total` hits."""

    query: str
    total: int
    lines: tuple[ConcordanceLine, ...]
    width: int  # columns of each context on a terminal
    by: str = ""  # the metadata column that lines are grouped by

    def __str__(self) -> str:
        return "\n".join(self.format_lines())

    def format_lines(self) -> list[str]:
        """The lines as text, with the matched words aligned."""
        word_width = max((display_width(line.word) for line in self.lines), default=0)
        labels = [sanitise(line.values[self.by]) for line in self.lines] if self.by else []
        label_width = min(max(map(display_width, labels), default=0), 24)
        return [self._format_line(line, word_width, label_width) for line in self.lines]

    def _format_line(self, line: ConcordanceLine, word_width: int, label_width: int) -> str:
        label = ""
        if self.by:
            label = pad(truncate(sanitise(line.values[self.by]), label_width), label_width) + "  "
        return f"{label}{pad(line.left, self.width, left=True)}  {pad(line.word, word_width)}  {line.right}".rstrip()


def concordance(
    index: Index,
    query: str | Query,
    *,
    width: int = 40,
    sort: Sort = "position",
    depth: int = 3,
    by: str = "",
    limit: int = 20,
    sample: bool = False,
    seed: int = 1,
) -> Concordance:
    """The first `limit` lines, sorted by the column `by`, then by `depth` words of left or right context.

    With `sample`, `limit` random hits, sorted in the same way."""
    if sort not in ("position", "left", "right"):
        raise unknown("order", sort, ("position", "left", "right"))
    if by and by not in index.columns:
        raise unknown("column", by, index.columns, where=index.source)
    for name, value in (("width", width), ("depth", depth), ("limit", limit)):
        if value < 1:
            raise FirthError(f"{name} is {value}", do="give 1 or more")
    query = parse_query(index, query) if isinstance(query, str) else query
    selected = _Reservoir(limit, seed) if sample else _TopHits(index, query, sort, depth, by, limit)
    for hits in find_hits(index, query):
        selected.add(hits)
    positions = selected.positions
    if sample:
        top = _TopHits(index, query, sort, depth, by, limit)
        top.add(positions)
        positions = top.positions
    lines = tuple(_make_line(index, int(position), len(query), width) for position in positions)
    return Concordance(query.text, selected.total, lines, width, by)


def _make_line(index: Index, position: int, length: int, columns: int) -> ConcordanceLine:
    """The line of a hit; its contexts end at the document boundaries."""
    start, stop = index.span(position, length)
    document = int(index.document_of(np.array([position]))[0])
    low, high = int(index.document_bytes[document]), int(index.document_bytes[document + 1])
    max_bytes = 8 * columns + 64  # four per character, as much again for whitespace that is collapsed
    left = truncate_left(sanitise(index.decode(max(low, start - max_bytes), start)).strip(), columns)
    right = truncate(sanitise(index.decode(stop, min(high, stop + max_bytes))).strip(), columns)
    values = {name: column.values[column.codes[document]] for name, column in index.columns.items()}
    return ConcordanceLine(left.strip(), sanitise(index.decode(start, stop)), right.strip(), position, document, values)


class _TopHits:
    """The first `limit` hits in a sort order, of any number of hits, in bounded memory."""

    def __init__(self, index: Index, query: Query, sort: Sort, depth: int, by: str, limit: int) -> None:
        self.index, self.length, self.limit, self.by = index, len(query), limit, by
        offsets = {"position": (), "left": range(-1, -depth - 1, -1), "right": range(depth)}[sort]
        self.offsets = [offset if sort == "left" else offset + self.length for offset in offsets]
        self.num_keys = len(self.offsets) + bool(by)
        self.total, self.positions = 0, np.zeros(0, np.int64)

    def add(self, hits: np.ndarray) -> None:
        """Add hits, all of them after the earlier ones."""
        self.total += len(hits)
        if not self.num_keys:  # they come in the right order
            self.positions = np.concatenate([self.positions, hits[: self.limit - len(self.positions)]])
            return
        hits = self._prune(np.concatenate([np.sort(self.positions), hits]))
        keys = [self._sort_key(hits, number) for number in range(self.num_keys)]
        self.positions = hits[np.lexsort([hits, *keys[::-1]])[: self.limit]]

    def _prune(self, hits: np.ndarray) -> np.ndarray:
        """Drop hits that cannot be among the first: those with `limit` others before them by some key."""
        certain, remaining = [], self.limit
        for number in range(self.num_keys):
            if len(hits) <= 4 * self.limit:
                break
            key = self._sort_key(hits, number)
            edge = np.partition(key, remaining - 1)[remaining - 1]
            certain.append(hits[key < edge])
            remaining -= len(certain[-1])
            hits = hits[key == edge]
        else:
            hits = hits[:remaining]  # equal in every key: by position
        return np.concatenate([*certain, hits])

    def _sort_key(self, hits: np.ndarray, number: int) -> np.ndarray:
        """Sort key `number` of each hit: first `by`, then word after word; a missing word sorts first."""
        if self.by and not number:
            column = self.index.columns[self.by]
            return column.ranks[column.codes[self.index.document_of(hits)]]
        positions = hits + self.offsets[number - bool(self.by)]
        document, starts = self.index.document_of(hits), self.index.document_starts
        inside = (positions >= starts[document]) & (positions < starts[document + 1])
        folded = self.index.folded_ids[self.index.ids[np.where(inside, positions, 0)]].astype(np.int64)
        return np.where(inside, folded + 1, 0)


class _Reservoir:
    """A uniform random sample of `limit` hits in one pass (reservoir sampling)."""

    def __init__(self, limit: int, seed: int) -> None:
        self.limit, self.rng = limit, np.random.Generator(np.random.Philox(key=seed))
        self.total, self.positions, self._keys = 0, np.zeros(0, np.int64), np.zeros(0)

    def add(self, hits: np.ndarray) -> None:
        """Give every hit a random key; the hits with the smallest keys stay."""
        self.total += len(hits)
        positions = np.concatenate([self.positions, hits])
        keys = np.concatenate([self._keys, self.rng.random(len(hits))])
        if len(keys) > self.limit:
            smallest = np.sort(np.argpartition(keys, self.limit)[: self.limit])
            positions, keys = positions[smallest], keys[smallest]
        self.positions, self._keys = positions, keys
