"""An endless stream of batches from a cursor on, made one ahead by a single thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from firth.data.batching import Batches
from firth.types import Batch, Cursor


def following(batches: Batches, at: Cursor) -> Cursor:
    """The cursor after a batch."""
    if at.index + 1 < batches.count(at.epoch):
        return Cursor(at.epoch, at.index + 1)
    return Cursor(at.epoch + 1, 0)


def stream(batches: Batches, start: Cursor) -> Iterator[Batch]:
    """Batches from `start` on, for ever; batches are pure functions of their cursor, so a thread changes nothing."""
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(batches.batch, start)
        while True:
            start = following(batches, start)
            batch, ahead = ahead.result(), pool.submit(batches.batch, start)
            yield batch
