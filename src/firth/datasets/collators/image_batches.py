"""Batches of labelled images, for image classification."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.config.schema import ImageRows
from firth.datasets.collators.collator import chunk_order, select_targets
from firth.datasets.collators.packing import PlannedBatches
from firth.datasets.collators.sentence_pairs import LABEL, ExampleList
from firth.datasets.image_dataset import ImageSplit
from firth.errors import FirthError
from firth.types import Batch, Cursor, Pixels

IMAGE = "image"  # the stream's name


class ImageBatches(PlannedBatches):
    """Labelled images, reshuffled each epoch."""

    config: ImageRows
    split: ImageSplit

    @staticmethod
    def context(config: ImageRows) -> str:
        return "image"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> ExampleList:
        split = self.split
        if not isinstance(split, ImageSplit):
            raise FirthError("no images to train on", where="data", do="set data.kind=images and data.text")
        return ExampleList(np.arange(len(split)), np.zeros(len(split), np.int64))

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        return chunk_order(order, self.config.batch_size)

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        numbers = [number for (number,) in rows]
        targets = {LABEL: select_targets(self.split.target, numbers)}
        return Batch({IMAGE: Pixels(self.split.pixels(numbers))}, targets, at)
