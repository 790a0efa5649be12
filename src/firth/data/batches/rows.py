"""Rows made of whole documents, or of pieces of long ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firth.config.schema import Bucketed, Framed, Packed
from firth.data.batches.common import make_batch
from firth.data.cache import Split
from firth.data.randomness import generator
from firth.text.special import Special
from firth.types import Batch, Cursor


@dataclass(frozen=True)
class Pieces:
    """Documents cut to at most `length` tokens: (first, last) places in the text."""

    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, split: Split, length: int, end: int = 0) -> Pieces:
        """All documents, without their last `end` tokens."""
        starts = np.asarray(split.starts)
        sizes = np.diff(starts) - end
        parts = -(-sizes // length)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        first = np.repeat(starts[:-1], parts) + number * length
        return cls(first, np.minimum(first + length, np.repeat(starts[1:] - end, parts)))

    @property
    def sizes(self) -> np.ndarray:
        return self.last - self.first


@dataclass(frozen=True, eq=False)
class RowBatches(ABC):
    """Batches whose rows are lists of pieces, planned for a whole epoch at a time."""

    config: Bucketed | Packed | Framed
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
    def _pieces(self) -> Pieces:
        return Pieces.of(self.split, self.config.length)

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
        inputs = np.full((len(rows), width), self.special.padding, np.int64)
        values, document, places = inputs.copy(), np.zeros_like(inputs), np.zeros_like(inputs)
        for row, members in enumerate(rows):
            here = 0
            for mark, piece in enumerate(members, 1):
                first, last = int(pieces.first[piece]), int(pieces.last[piece])
                span = slice(here, here + last - first)
                places[row, span] = np.arange(first, last)
                before = ids[places[row, span] - 1]
                inputs[row, span] = np.where(before == self.special.end, self.special.opening, before)
                values[row, span], document[row, span] = ids[first:last], mark
                here = span.stop
        return make_batch(inputs, values, document > 0, places, at, fresh=True, document=document)


class BucketedBatches(RowBatches):
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


class PackedBatches(RowBatches):
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
