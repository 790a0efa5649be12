"""A word in its places, one line each (KWIC): the first of them in any order, without sorting them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firth.counts.index import Index
from firth.counts.query import Query, hits, parse
from firth.counts.width import head, pad, plain, tail, width
from firth.errors import FirthError, unknown

Sort = Literal["position", "left", "right"]


@dataclass(frozen=True)
class Line:
    """One place: the text before, the words themselves, the text after."""

    left: str
    word: str
    right: str
    position: int
    document: int
    values: dict[str, str]


@dataclass(frozen=True)
class Concordance:
    """Some lines of `total`."""

    query: str
    total: int
    lines: tuple[Line, ...]
    columns: int  # of each side, on a screen
    by: str = ""

    def __str__(self) -> str:
        return "\n".join(self.rows())

    def rows(self) -> list[str]:
        """The lines one under the other, the words in one column."""
        middle = max((width(line.word) for line in self.lines), default=0)
        label = max((width(plain(line.values[self.by])) for line in self.lines), default=0) if self.by else 0
        return [self._row(line, middle, min(label, 24)) for line in self.lines]

    def _row(self, line: Line, middle: int, label: int) -> str:
        before = f"{pad(head(plain(line.values[self.by]), label), label)}  " if self.by else ""
        return f"{before}{pad(line.left, self.columns, left=True)}  {pad(line.word, middle)}  {line.right}".rstrip()


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
    """The first `limit` lines, by `depth` words left or right of the hit, and by the column `by` before that.

    With `sample`, `limit` hits drawn at random, in that order."""
    if sort not in ("position", "left", "right"):
        raise unknown("order", sort, ("position", "left", "right"))
    if by and by not in index.columns:
        raise unknown("column", by, index.columns, where=index.text)
    for name, value in (("width", width), ("depth", depth), ("limit", limit)):
        if value < 1:
            raise FirthError(f"{name} is {value}", do="give 1 or more")
    query = parse(index, query) if isinstance(query, str) else query
    kept = _Drawn(index, query, limit, seed) if sample else _Best(index, query, sort, depth, by, limit)
    for found in hits(index, query):
        kept.add(found)
    positions = kept.positions
    if sample:
        best = _Best(index, query, sort, depth, by, limit)
        best.add(positions)
        positions = best.positions
    lines = tuple(_line(index, int(position), len(query), width) for position in positions)
    return Concordance(query.text, kept.total, lines, width, by)


def _line(index: Index, position: int, length: int, columns: int) -> Line:
    """The line of a hit; its sides end where the document does."""
    start, stop = index.span(position, length)
    document = int(index.document_of(np.array([position]))[0])
    low, high = int(index.bytes[document]), int(index.bytes[document + 1])
    room = 8 * columns + 64  # bytes: four a character, as much again for blanks in a row
    left = tail(plain(index.cut(max(low, start - room), start)).strip(), columns)
    right = head(plain(index.cut(stop, min(high, stop + room))).strip(), columns)
    values = {name: column.values[column.of[document]] for name, column in index.columns.items()}
    return Line(left.strip(), plain(index.cut(start, stop)), right.strip(), position, document, values)


class _Best:
    """The first hits in some order, of any number, in bounded memory."""

    def __init__(self, index: Index, query: Query, sort: Sort, depth: int, by: str, limit: int) -> None:
        self.index, self.length, self.limit, self.by = index, len(query), limit, by
        steps = {"position": (), "left": range(-1, -depth - 1, -1), "right": range(depth)}[sort]
        self.steps = [step if sort == "left" else step + self.length for step in steps]
        self.keys = len(self.steps) + bool(by)
        self.total, self.positions = 0, np.zeros(0, np.int64)

    def add(self, found: np.ndarray) -> None:
        """Some more hits, all of them after the earlier ones."""
        self.total += len(found)
        if not self.keys:  # they come in the right order
            self.positions = np.concatenate([self.positions, found[: self.limit - len(self.positions)]])
            return
        found = self._narrowed(np.concatenate([np.sort(self.positions), found]))
        keys = [self._key(found, place) for place in range(self.keys)]
        self.positions = found[np.lexsort([found, *keys[::-1]])[: self.limit]]

    def _narrowed(self, found: np.ndarray) -> np.ndarray:
        """Fewer, the first among them: who has `limit` others before it by some key cannot be one."""
        sure, open_places = [], self.limit
        for place in range(self.keys):
            if len(found) <= 4 * self.limit:
                break
            key = self._key(found, place)
            edge = np.partition(key, open_places - 1)[open_places - 1]
            sure.append(found[key < edge])
            open_places -= len(sure[-1])
            found = found[key == edge]
        else:
            found = found[:open_places]  # alike in every key: by position
        return np.concatenate([*sure, found])

    def _key(self, found: np.ndarray, place: int) -> np.ndarray:
        """What to sort by, first `by`, then word after word; no word comes before any word."""
        if self.by and not place:
            column = self.index.columns[self.by]
            return column.ranks[column.of[self.index.document_of(found)]]
        step = self.steps[place - bool(self.by)]
        there = found + step
        document = self.index.document_of(found)
        inside = (there >= self.index.documents[document]) & (there < self.index.documents[document + 1])
        folded = self.index.fold[self.index.ids[np.where(inside, there, 0)]].astype(np.int64)
        return np.where(inside, folded + 1, 0)


class _Drawn:
    """So many hits by chance, each as likely as the other, in one pass (a reservoir)."""

    def __init__(self, index: Index, query: Query, limit: int, seed: int) -> None:
        self.limit, self.random = limit, np.random.Generator(np.random.Philox(key=seed))
        self.total, self.positions, self._tickets = 0, np.zeros(0, np.int64), np.zeros(0)

    def add(self, found: np.ndarray) -> None:
        """Every hit draws a ticket; the lowest stay."""
        self.total += len(found)
        positions = np.concatenate([self.positions, found])
        tickets = np.concatenate([self._tickets, self.random.random(len(found))])
        if len(tickets) > self.limit:
            kept = np.sort(np.argpartition(tickets, self.limit)[: self.limit])
            positions, tickets = positions[kept], tickets[kept]
        self.positions, self._tickets = positions, tickets
