"""Batches of whole documents, long ones cut into chunks: bucketing by length, and sequence packing with document ids.

Bucketing puts one chunk into a row and chunks of similar length into a batch, so that little is padding. Packing puts
several chunks into a row; the document ids (`Tokens.document`) keep attention within each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firth.config.schema import Bucketed, Packed, SegmentPairs
from firth.datasets.collators.collator import make_batch
from firth.datasets.token_cache import Split
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, Cursor, generator


@dataclass(frozen=True)
class Chunks:
    """Documents cut to at most `length` tokens: (first, last) positions in the text."""

    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, split: Split, length: int, drop_last: int = 0) -> Chunks:
        """The chunks of all documents, without the last `drop_last` tokens of each."""
        starts = np.asarray(split.starts)
        sizes = np.diff(starts) - drop_last
        parts = -(-sizes // length)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        first = np.repeat(starts[:-1], parts) + number * length
        return cls(first, np.minimum(first + length, np.repeat(starts[1:] - drop_last, parts)))

    @property
    def sizes(self) -> np.ndarray:
        """The tokens of each chunk."""
        return self.last - self.first


@dataclass(frozen=True, eq=False)
class PlannedBatches(ABC):
    """Batches whose rows are lists of chunks or examples, planned for a whole epoch at a time."""

    config: Bucketed | Packed | SegmentPairs
    split: Split
    special: SpecialTokens
    seed: int

    @staticmethod
    def evaluation_batching(config: Bucketed | Packed) -> Bucketed | Packed:
        return config

    @staticmethod
    def context(config: Bucketed | Packed) -> str:
        # A recurrent network carries its state over the documents packed into a row.
        return f"{'packed' if isinstance(config, Packed) else 'document'}/{config.length}"

    def count(self, epoch: int) -> int:
        return len(self._plan(epoch))

    def batch(self, at: Cursor) -> Batch:
        return self._collate(self._plan(at.epoch)[at.index], at)

    def evaluation_batches(self) -> Iterator[Batch]:
        plan = self._group(np.arange(len(self._items().first)))
        order = generator(0, "once").permutation(len(plan))  # shuffled, so that the first batches are a fair sample
        for index, number in enumerate(order):
            yield self._collate(plan[number], Cursor(0, index))

    @lru_cache(maxsize=1)  # noqa: B019 - one epoch's plan; the object lives as long as the run
    def _items(self) -> Chunks:
        return Chunks.of(self.split, self.config.length)

    @lru_cache(maxsize=2)  # noqa: B019
    def _plan(self, epoch: int) -> list[list[list[int]]]:
        random = generator(self.seed, "order", epoch)
        plan = self._group(random.permutation(len(self._items().first)))
        return [plan[index] for index in random.permutation(len(plan))]

    @abstractmethod
    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        """Batches of rows of chunks, each chunk once."""

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        """The batch with these chunks in its rows, padded at the end."""
        chunks, ids = self._items(), self.split.ids
        width = max(int(chunks.sizes[row].sum()) for row in rows)
        inputs = np.full((len(rows), width), self.special.pad_id, np.int64)
        values, document, positions = inputs.copy(), np.zeros_like(inputs), np.zeros_like(inputs)
        for row, members in enumerate(rows):
            start = 0
            for document_id, chunk in enumerate(members, 1):
                first, last = int(chunks.first[chunk]), int(chunks.last[chunk])
                span = slice(start, start + last - first)
                positions[row, span] = np.arange(first, last)
                before = ids[positions[row, span] - 1]
                inputs[row, span] = np.where(before == self.special.end, self.special.bos_id, before)
                values[row, span], document[row, span] = ids[first:last], document_id
                start = span.stop
        return make_batch(inputs, values, document > 0, positions, at, reset_state=True, document=document)


class BucketedBatches(PlannedBatches):
    """Bucketing by length: one chunk per row, chunks of similar length in a batch, padded within the token budget."""

    _POOL = 4096  # chunks sorted together: enough for tight buckets, few enough to keep the order random

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, plan = self._items().sizes, []
        for start in range(0, len(order), self._POOL):
            pool = order[start : start + self._POOL]
            pool = pool[np.argsort(sizes[pool], kind="stable")]
            rows: list[list[int]] = []
            for chunk in pool:
                if rows and (len(rows) + 1) * sizes[chunk] > self.config.tokens_per_batch:
                    plan.append(rows)
                    rows = []
                rows.append([int(chunk)])
            plan.append(rows)
        return plan


class PackedBatches(PlannedBatches):
    """Sequence packing: several chunks per row, by best fit: each goes into the fullest open row that has room."""

    _OPEN = 64

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, done = self._items().sizes, []
        open_rows: list[tuple[int, list[int]]] = []  # (tokens, chunks)
        for chunk in order:
            size = int(sizes[chunk])
            fitting = [row for row in open_rows if row[0] + size <= self.config.length]
            best = max(fitting, key=lambda row: row[0], default=(0, []))
            open_rows = [row for row in open_rows if row[1] is not best[1]]
            open_rows.append((best[0] + size, [*best[1], int(chunk)]))
            if len(open_rows) > self._OPEN:
                open_rows.sort(key=lambda row: row[0])
                done.append(open_rows.pop()[1])
        done += [row for _, row in open_rows]
        return [done[start : start + self.config.batch_size] for start in range(0, len(done), self.config.batch_size)]
