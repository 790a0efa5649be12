"""Prefetching: an endless stream of batches from a cursor on, the next one collated ahead by a thread."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from firth.datasets.collators.batches import Batches
from firth.types import Batch, Cursor


def next_cursor(batches: Batches, at: Cursor) -> Cursor:
    """The cursor after a batch."""
    if at.index + 1 < batches.count(at.epoch):
        return Cursor(at.epoch, at.index + 1)
    return Cursor(at.epoch + 1, 0)


def prefetch_batches(batches: Batches, start: Cursor) -> Generator[Batch[np.ndarray]]:
    """Batches from `start` on, without end; a batch is a pure function of its cursor, so the thread changes nothing."""
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(batches.batch, start)
        while True:
            start = next_cursor(batches, start)
            batch, ahead = ahead.result(), pool.submit(batches.batch, start)
            yield batch
