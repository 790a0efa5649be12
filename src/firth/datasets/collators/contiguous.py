"""Batches cut from the text as one long stream: truncated BPTT and windows.

Truncated BPTT (truncated backpropagation through time) reads contiguous streams: row i of a batch continues row i of
the batch before, so that a recurrent state, or a Transformer-XL memory, is carried over. Windows are independent; for
evaluation they slide by a stride, so that each token is scored once with enough left context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from firth.config.schema import Contiguous, Windows
from firth.datasets.collators.collator import make_batch
from firth.datasets.token_cache import Split
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, Cursor, generator


@dataclass(frozen=True, eq=False)
class StreamBatches:
    """Rows cut from the text as a ring: the last [END] precedes the first token."""

    config: Contiguous | Windows
    split: Split
    special: SpecialTokens
    seed: int

    @property
    def batch_size(self) -> int:
        """As configured, but smaller for a text with hardly a token per row."""
        return max(1, min(self.config.batch_size, len(self.split.ids) // 2))

    @property
    def length(self) -> int:
        """As configured, but no longer than a row's part of the text."""
        return min(self.config.length, len(self.split.ids) // self.batch_size)

    def _cut(
        self,
        positions: np.ndarray,
        mask: np.ndarray,
        at: Cursor,
        *,
        reset_state: bool,
        predicted: np.ndarray | None = None,
    ) -> Batch:
        before = self.split.ids[positions - 1]
        inputs = np.where(before == self.special.end, self.special.bos_id, before)
        return make_batch(inputs, self.split.ids[positions], mask, positions, at, reset_state, predicted=predicted)


class ContiguousBatches(StreamBatches):
    """Parallel contiguous streams for truncated BPTT; each epoch starts at a random offset and goes round once."""

    config: Contiguous

    LENGTH = 256  # tokens per evaluation batch, where one row carries its state: any length gives the same score

    @classmethod
    def evaluation_batching(cls, config: Contiguous) -> Contiguous:
        return replace(config, batch_size=1, length=cls.LENGTH)

    @staticmethod
    def context(config: Contiguous) -> str:
        return "carried"

    def count(self, epoch: int) -> int:
        return len(self.split.ids) // self.batch_size // self.length

    def batch(self, at: Cursor) -> Batch:
        total = len(self.split.ids)
        offset = generator(self.seed, "offset", at.epoch).integers(total)
        first = offset + np.arange(self.batch_size) * (total // self.batch_size) + at.index * self.length
        positions = (first[:, None] + np.arange(self.length)) % total  # (rows, length)
        reset = at.index % (self.config.reset_every or self.count(at.epoch)) == 0
        return self._cut(positions, np.ones(positions.shape, bool), at, reset_state=reset)

    def evaluation_batches(self) -> Iterator[Batch]:
        total = len(self.split.ids)
        stream_length = -(-total // self.batch_size)
        rows = np.arange(self.batch_size)
        first, last = rows * stream_length, np.minimum((rows + 1) * stream_length, total)
        for index in range(-(-stream_length // self.length)):
            width = min(self.length, stream_length - index * self.length)
            positions = first[:, None] + index * self.length + np.arange(width)
            yield self._cut(positions % total, positions < last[:, None], Cursor(0, index), reset_state=index == 0)


class WindowBatches(StreamBatches):
    """Independent windows: in training at a random offset and shuffled, in evaluation sliding by a stride."""

    @staticmethod
    def evaluation_batching(config: Windows) -> Windows:
        return replace(config, stride=min(config.stride or max(1, config.length // 2), config.length))

    @staticmethod
    def context(config: Windows) -> str:
        return f"sliding/{config.length}/{config.stride}"

    def count(self, epoch: int) -> int:
        return max(1, len(self.split.ids) // self.length // self.batch_size)

    def batch(self, at: Cursor) -> Batch:
        total = len(self.split.ids)
        random = generator(self.seed, "windows", at.epoch)
        offset, order = random.integers(total), random.permutation(total // self.length)
        windows = order[at.index * self.batch_size : (at.index + 1) * self.batch_size]
        positions = (offset + windows[:, None] * self.length + np.arange(self.length)) % total  # (rows, length)
        return self._cut(positions, np.ones(positions.shape, bool), at, reset_state=True)

    def evaluation_batches(self) -> Iterator[Batch]:
        total = len(self.split.ids)
        length = min(self.config.length, total)
        stride = min(self.config.stride or length, length)
        last = np.minimum(np.arange(length, total + stride, stride), total)  # where windows end: each token once
        done = np.concatenate([[0], last[:-1]])  # tokens before here are predicted by an earlier window
        count = -(-len(last) // self.config.batch_size)
        for index in range(count):
            rows = slice(index, None, count)  # spread over the text, so that the first batches are a fair sample
            positions = last[rows, None] - length + np.arange(length)
            predicted = positions >= done[rows, None]
            everything = np.ones(positions.shape, bool)
            yield self._cut(positions, everything, Cursor(0, index), reset_state=True, predicted=predicted)
