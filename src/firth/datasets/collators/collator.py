"""The protocol of a split's collated batches, and what all collators share. A collator collates tokenised examples into
padded batches of inputs and targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from firth.types import Batch, Cursor, Target, Tokens


class Batches(Protocol):
    """The batches of one split."""

    def count(self, epoch: int) -> int:
        """The number of batches of an epoch."""

    def batch(self, at: Cursor) -> Batch[np.ndarray]:
        """One training batch."""

    def evaluation_batches(self) -> Iterator[Batch[np.ndarray]]:
        """One pass over the split for evaluation: every token is predicted once."""


def chunk_order(order: np.ndarray, batch_size: int) -> list[list[list[int]]]:
    """The order cut into batches of `batch_size` rows with one example each."""
    numbers = order.tolist()
    return [[[number] for number in numbers[at : at + batch_size]] for at in range(0, len(numbers), batch_size)]


def select_targets(target: Target[np.ndarray], numbers: list[int]) -> Target[np.ndarray]:
    """The targets of these examples."""
    return Target(target.values[numbers], target.weight[numbers])


def make_batch(
    inputs: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray,
    positions: np.ndarray,
    at: Cursor,
    reset_state: bool,
    document: np.ndarray | None = None,
    predicted: np.ndarray | None = None,
) -> Batch[np.ndarray]:
    """A batch for next-token prediction; `predicted` are the targets that count (none given: all real tokens)."""
    tokens = Tokens(inputs.astype(np.int64), mask, document)
    weight = (mask if predicted is None else predicted).astype(np.float32)
    return Batch({"text": tokens}, {"text": Target(values.astype(np.int64), weight, positions)}, at, reset_state)
