"""Rows that are labelled pictures."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.config.schema import Pictured
from firth.data.batches.common import labelled, one_by_one
from firth.data.batches.examples import LABEL, Listed
from firth.data.batches.rows import RowBatches
from firth.data.pictured import PictureSplit
from firth.errors import FirthError
from firth.types import Batch, Cursor, Pixels

IMAGE = "image"  # the stream's name


class PictureBatches(RowBatches):
    """Labelled pictures in an order drawn for each epoch."""

    config: Pictured
    split: PictureSplit

    @staticmethod
    def context(config: Pictured) -> str:
        return "picture"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _pieces(self) -> Listed:
        split = self.split
        if not isinstance(split, PictureSplit):
            raise FirthError("no pictures to learn from", where="data", do="set data.kind=pictures and data.text")
        if len(split.names) < 2:
            what = f"{len(split.names)} label in the training pictures ({', '.join(split.names)})"
            raise FirthError(what, where="data", do="give pictures of at least two labels")
        return Listed(np.arange(len(split)), np.zeros(len(split), np.int64))

    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        return one_by_one(order, self.config.rows)

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        numbers = [number for (number,) in rows]
        return Batch({IMAGE: Pixels(self.split.pixels(numbers))}, {LABEL: labelled(self.split.labels[numbers])}, at)
