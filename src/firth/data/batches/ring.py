"""Rows cut from the text as one long stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from firth.config.schema import Contiguous, Windows
from firth.data.batches.common import make_batch
from firth.data.cache import Split
from firth.data.randomness import generator
from firth.text.special import Special
from firth.types import Batch, Cursor


@dataclass(frozen=True, eq=False)
class RingBatches:
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
        inputs = np.where(before == self.special.end, self.special.opening, before)
        return make_batch(inputs, self.split.ids[places], mask, places, at, fresh, predicted=predicted)


class ContiguousBatches(RingBatches):
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


class WindowBatches(RingBatches):
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
