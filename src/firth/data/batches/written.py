"""Rows of pairs of texts: what is read, and what is to be written."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.config.schema import Written
from firth.data.batches.examples import Listed
from firth.data.batches.rows import BucketedBatches
from firth.data.material import ExampleSplit
from firth.errors import FirthError
from firth.types import Batch, Cursor, Tokens


class WrittenBatches(BucketedBatches):
    """A pair to a row of each of two streams, without marks at their ends; pairs of similar length together."""

    config: Written
    split: ExampleSplit

    @staticmethod
    def context(config: Written) -> str:
        return f"written/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _pieces(self) -> Listed:
        split = self.split
        if not isinstance(split, ExampleSplit) or split.parts != 2:
            do = "give a table of two columns, and set data.kind=text-to-text"
            raise FirthError("no pairs of texts to learn from", where="data", do=do)
        longest = np.diff(split.starts).reshape(-1, 2).max(1) + 1
        return Listed(np.arange(len(split)), np.minimum(longest, self.config.length + 2))

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        texts = [self.split.texts(number) for (number,) in rows]
        sides = zip(("source", "target"), zip(*texts, strict=True), strict=True)
        return Batch({name: self._stream(side) for name, side in sides}, {}, at)

    def _stream(self, texts: tuple[np.ndarray, ...]) -> Tokens:
        sizes = np.array([min(len(text), self.config.length) for text in texts])
        mask = np.arange(max(1, sizes.max())) < sizes[:, None]
        ids = np.full(mask.shape, self.special.padding, np.int64)
        ids[mask] = np.concatenate([text[:size] for text, size in zip(texts, sizes, strict=True)])
        return Tokens(ids, mask)
