"""Rows of pairs of texts: what is read, and what is to be written."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from firth.config.schema import Pairs
from firth.data.batches.examples import Listed
from firth.data.batches.rows import BucketedBatches
from firth.data.material import ExampleSplit
from firth.errors import FirthError
from firth.text.letters import LONGEST, PAD
from firth.types import Batch, Cursor, Tokens


class PairBatches(BucketedBatches):
    """A pair to a row of each of two streams, without marks at their ends; pairs of similar length together."""

    config: Pairs
    split: ExampleSplit

    @staticmethod
    def context(config: Pairs) -> str:
        return f"pairs/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _pieces(self) -> Listed:
        split = self.split
        if not isinstance(split, ExampleSplit) or split.lengths.shape[1] != 2:
            do = "give a table of two columns, and set data.kind=text-to-text"
            raise FirthError("no pairs of texts to learn from", where="data", do=do)
        longest = split.lengths.max(1) + 1
        return Listed(np.arange(len(split)), np.minimum(longest, self.config.length + 2))

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        split, names = self.split, ("source", "target")
        texts = zip(*[split.texts(number) for (number,) in rows], strict=True)
        streams = {name: self._stream(side) for name, side in zip(names, texts, strict=True)}
        if split.spelled is not None:
            letters = zip(*[split.letters(number) for (number,) in rows], strict=True)
            streams = {name: _spelled(streams[name], side) for name, side in zip(names, letters, strict=True)}
        return Batch(streams, {}, at)

    def _stream(self, texts: tuple[np.ndarray, ...]) -> Tokens:
        sizes = np.array([min(len(text), self.config.length) for text in texts])
        mask = np.arange(max(1, sizes.max())) < sizes[:, None]
        ids = np.full(mask.shape, self.special.padding, np.int64)
        ids[mask] = np.concatenate([text[:size] for text, size in zip(texts, sizes, strict=True)])
        return Tokens(ids, mask)


def _spelled(stream: Tokens, letters: tuple[np.ndarray, ...]) -> Tokens:
    """The stream with the letters of its tokens (tokens, letters) for each row, as many as it has tokens."""
    found = np.full((*stream.mask.shape, LONGEST), PAD, np.int64)
    sizes = stream.mask.sum(1)
    found[stream.mask] = np.concatenate([row[:size] for row, size in zip(letters, sizes, strict=True)])
    return replace(stream, letters=found)
