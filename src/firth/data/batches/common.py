"""What all kinds of batches have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from firth.data.numbered import OTHER
from firth.types import Batch, Cursor, Target, Tokens


class Batches(Protocol):
    """The batches of one split."""

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""

    def batch(self, at: Cursor) -> Batch:
        """One training batch."""

    def once(self) -> Iterator[Batch]:
        """Every token of the split once, in order, for evaluation."""


def one_by_one(order: np.ndarray, rows: int) -> list[list[list[int]]]:
    """Batches of so many rows, each of one piece, in the given order."""
    numbers = order.tolist()
    return [[[number] for number in numbers[at : at + rows]] for at in range(0, len(numbers), rows)]


def labelled(numbers: np.ndarray) -> Target:
    """Labels to be told; those that training has not met are not."""
    known = numbers != OTHER
    return Target(np.where(known, numbers, 0), known.astype(np.float32))


def make_batch(
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
