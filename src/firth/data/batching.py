"""Batches as pure functions of (seed, epoch, index): any batch of any epoch can be made on its own.

A document's tokens w1 … wn [END] are predicted from [START] w1 … wn. In a contiguous stream the [END] of one document
stands before the next one's first token, and is shown to the model as [START]: so [START] is never predicted, [END]
never read, and a document costs the same tokens in every kind of batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from firth.config.schema import Batching, Bucketed, Contiguous, Packed, Windows
from firth.data.cache import Split
from firth.data.randomness import generator
from firth.text.special import Special
from firth.types import Batch, Cursor, Target, Tokens


class Batches(Protocol):
    """The batches of one split."""

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""

    def batch(self, at: Cursor) -> Batch:
        """One training batch."""

    def once(self) -> Iterator[Batch]:
        """Every token of the split once, in order, for evaluation."""


def batches(config: Batching, split: Split, special: Special, seed: int) -> Batches:
    """The batches of a split as configured."""
    return _KINDS[type(config)](config, split, special, seed)


def reading(config: Batching) -> Batching:
    """How a text is read when it is scored: with as much before each token as the model can use."""
    return _KINDS[type(config)].reading(config)


def context(config: Batching) -> str:
    """What a token's prediction may look back on, for the signature of a score."""
    return _KINDS[type(config)].context(config)


def _batch(
    inputs: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray,
    places: np.ndarray,
    at: Cursor,
    fresh: bool,
    document: np.ndarray | None = None,
    predicted: np.ndarray | None = None,
) -> Batch:
    tokens = Tokens(inputs.astype(np.int64), mask, document)
    weight = (mask if predicted is None else predicted).astype(np.float32)
    return Batch({"text": tokens}, {"text": Target(values.astype(np.int64), weight, places)}, at, fresh)


@dataclass(frozen=True, eq=False)
class _RingBatches:
    """Rows cut from the text as a ring: before its first token stands the last [END]."""

    config: Contiguous | Windows
    split: Split
    special: Special
    seed: int

    @property
    def rows(self) -> int:
        """As configured, but fewer for a text with hardly a token per row."""
        return max(1, min(self.config.rows, len(self.split.ids) // 2))

    @property
    def length(self) -> int:
        """As configured, but no longer than a row's share of the text."""
        return min(self.config.length, len(self.split.ids) // self.rows)

    def _cut(
        self, places: np.ndarray, mask: np.ndarray, at: Cursor, *, fresh: bool, predicted: np.ndarray | None = None
    ) -> Batch:
        before = self.split.ids[places - 1]
        inputs = np.where(before == self.special.end, self.special.start, before)
        return _batch(inputs, self.split.ids[places], mask, places, at, fresh, predicted=predicted)


class ContiguousBatches(_RingBatches):
    """Rows that run side by side through the text. Each epoch starts at a random place and goes round once."""

    LENGTH = 256  # tokens read at once where one row carries its state: any length gives the same score

    @classmethod
    def reading(cls, config: Contiguous) -> Contiguous:
        return replace(config, rows=1, length=cls.LENGTH)

    @staticmethod
    def context(config: Contiguous) -> str:
        return "carried"

    def count(self, epoch: int) -> int:
        return len(self.split.ids) // self.rows // self.length

    def batch(self, at: Cursor) -> Batch:
        total = len(self.split.ids)
        offset = generator(self.seed, "offset", at.epoch).integers(total)
        first = offset + np.arange(self.rows) * (total // self.rows) + at.index * self.length
        places = (first[:, None] + np.arange(self.length)) % total  # (rows, length)
        return self._cut(places, np.ones(places.shape, bool), at, fresh=at.index == 0)

    def once(self) -> Iterator[Batch]:
        total = len(self.split.ids)
        share = -(-total // self.rows)
        first, last = np.arange(self.rows) * share, np.minimum(np.arange(1, self.rows + 1) * share, total)
        for index in range(-(-share // self.length)):
            width = min(self.length, share - index * self.length)
            places = first[:, None] + index * self.length + np.arange(width)
            yield self._cut(places % total, places < last[:, None], Cursor(0, index), fresh=index == 0)


class WindowBatches(_RingBatches):
    """Windows that each stand alone: in training cut at a random place and shuffled, in scoring one stride apart."""

    @staticmethod
    def reading(config: Windows) -> Windows:
        return replace(config, stride=min(config.stride or max(1, config.length // 2), config.length))

    @staticmethod
    def context(config: Windows) -> str:
        return f"sliding/{config.length}/{config.stride}"

    def count(self, epoch: int) -> int:
        return max(1, len(self.split.ids) // self.length // self.rows)

    def batch(self, at: Cursor) -> Batch:
        total = len(self.split.ids)
        random = generator(self.seed, "windows", at.epoch)
        offset, order = random.integers(total), random.permutation(total // self.length)
        chosen = order[at.index * self.rows : (at.index + 1) * self.rows]
        places = (offset + chosen[:, None] * self.length + np.arange(self.length)) % total  # (rows, length)
        return self._cut(places, np.ones(places.shape, bool), at, fresh=True)

    def once(self) -> Iterator[Batch]:
        total = len(self.split.ids)
        length = min(self.config.length, total)
        stride = min(self.config.stride or length, length)
        last = np.minimum(np.arange(length, total + stride, stride), total)  # where windows end: each token once
        done = np.concatenate([[0], last[:-1]])  # what was predicted before
        count = -(-len(last) // self.config.rows)
        for index in range(count):
            rows = slice(index, None, count)  # spread over the text: so that the first batches are like all of them
            places = last[rows, None] - length + np.arange(length)
            predicted = places >= done[rows, None]
            yield self._cut(places, np.ones(places.shape, bool), Cursor(0, index), fresh=True, predicted=predicted)


@dataclass(frozen=True)
class _Pieces:
    """Documents cut to at most `length` tokens: (first, last) places in the text."""

    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, split: Split, length: int) -> _Pieces:
        starts = np.asarray(split.starts)
        sizes = np.diff(starts)
        parts = -(-sizes // length)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        first = np.repeat(starts[:-1], parts) + number * length
        return cls(first, np.minimum(first + length, np.repeat(starts[1:], parts)))

    @property
    def sizes(self) -> np.ndarray:
        return self.last - self.first


@dataclass(frozen=True, eq=False)
class _RowBatches(ABC):
    """Batches whose rows are lists of pieces, planned for a whole epoch at a time."""

    config: Bucketed | Packed
    split: Split
    special: Special
    seed: int

    @staticmethod
    def reading(config: Bucketed | Packed) -> Bucketed | Packed:
        return config

    @staticmethod
    def context(config: Bucketed | Packed) -> str:
        # A recurrent network reads on over the documents packed into a row.
        return f"{'packed' if isinstance(config, Packed) else 'document'}/{config.length}"

    def count(self, epoch: int) -> int:
        return len(self._plan(epoch))

    def batch(self, at: Cursor) -> Batch:
        return self._fill(self._plan(at.epoch)[at.index], at)

    def once(self) -> Iterator[Batch]:
        plan = self._arrange(np.arange(len(self._pieces().first)))
        for index, place in enumerate(
            generator(0, "once").permutation(len(plan))
        ):  # the first ones are like all of them
            yield self._fill(plan[place], Cursor(0, index))

    @lru_cache(maxsize=1)  # noqa: B019 - one epoch's plan; the object lives as long as the run
    def _pieces(self) -> _Pieces:
        return _Pieces.of(self.split, self.config.length)

    @lru_cache(maxsize=2)  # noqa: B019
    def _plan(self, epoch: int) -> list[list[list[int]]]:
        random = generator(self.seed, "order", epoch)
        plan = self._arrange(random.permutation(len(self._pieces().first)))
        return [plan[index] for index in random.permutation(len(plan))]

    @abstractmethod
    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        """Batches of rows of pieces, all pieces once."""

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        pieces, ids = self._pieces(), self.split.ids
        width = max(int(pieces.sizes[row].sum()) for row in rows)
        inputs = np.full((len(rows), width), self.special.pad, np.int64)
        values, document, places = inputs.copy(), np.zeros_like(inputs), np.zeros_like(inputs)
        for row, members in enumerate(rows):
            here = 0
            for mark, piece in enumerate(members, 1):
                first, last = int(pieces.first[piece]), int(pieces.last[piece])
                span = slice(here, here + last - first)
                places[row, span] = np.arange(first, last)
                before = ids[places[row, span] - 1]
                inputs[row, span] = np.where(before == self.special.end, self.special.start, before)
                values[row, span], document[row, span] = ids[first:last], mark
                here = span.stop
        return _batch(inputs, values, document > 0, places, at, fresh=True, document=document)


class BucketedBatches(_RowBatches):
    """A piece per row; pieces of similar length share a batch, whose padded size stays within the budget."""

    _POOL = 4096  # pieces sorted together: enough for tight buckets, few enough to keep the order random

    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, plan = self._pieces().sizes, []
        for start in range(0, len(order), self._POOL):
            pool = order[start : start + self._POOL]
            pool = pool[np.argsort(sizes[pool], kind="stable")]
            rows: list[list[int]] = []
            for piece in pool:
                if rows and (len(rows) + 1) * sizes[piece] > self.config.tokens:
                    plan.append(rows)
                    rows = []
                rows.append([int(piece)])
            plan.append(rows)
        return plan


class PackedBatches(_RowBatches):
    """Pieces side by side in rows of one length: each goes into the fullest open row that has room for it."""

    _OPEN = 64

    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, done = self._pieces().sizes, []
        open_rows: list[tuple[int, list[int]]] = []  # (tokens, pieces)
        for piece in order:
            size = int(sizes[piece])
            fitting = [row for row in open_rows if row[0] + size <= self.config.length]
            best = max(fitting, key=lambda row: row[0], default=(0, []))
            open_rows = [row for row in open_rows if row[1] is not best[1]]
            open_rows.append((best[0] + size, [*best[1], int(piece)]))
            if len(open_rows) > self._OPEN:
                open_rows.sort(key=lambda row: row[0])
                done.append(open_rows.pop()[1])
        done += [row for _, row in open_rows]
        return [done[start : start + self.config.rows] for start in range(0, len(done), self.config.rows)]


_KINDS = {
    Contiguous: ContiguousBatches,
    Bucketed: BucketedBatches,
    Packed: PackedBatches,
    Windows: WindowBatches,
}
