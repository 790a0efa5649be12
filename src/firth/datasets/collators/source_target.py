"""Batches of source and target texts for sequence-to-sequence models, bucketed by length."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from firth.config.schema import SourceTarget
from firth.datasets.collators.packing import BucketedBatches
from firth.datasets.collators.sentence_pairs import ExampleList
from firth.datasets.dialogue_dataset import ReplySplit
from firth.datasets.training_data import ExampleSplit
from firth.errors import FirthError
from firth.tokenizers.characters import MAX_WORD_BYTES, PAD
from firth.types import Batch, Cursor, Tokens


class SourceTargetBatches(BucketedBatches):
    """The streams "source" and "target", one pair per row, without special tokens; bucketed by length."""

    config: SourceTarget
    split: ExampleSplit | ReplySplit

    @staticmethod
    def context(config: SourceTarget) -> str:
        return f"source-target/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> ExampleList:
        split = self.split
        if not isinstance(split, ExampleSplit | ReplySplit) or split.lengths.shape[1] != 2:
            do = "give a table of two columns, and set data.kind=text-to-text"
            raise FirthError("no source and target texts to train on", where="data", do=do)
        longest = split.lengths.max(1) + 1
        return ExampleList(np.arange(len(split)), np.minimum(longest, self.config.length + 2))

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        split, names = self.split, ("source", "target")
        texts = zip(*[split.texts(number) for (number,) in rows], strict=True)
        streams = {name: self._stream(side) for name, side in zip(names, texts, strict=True)}
        if split.oov_characters is not None:
            spellings = zip(*[split.characters(number) for (number,) in rows], strict=True)
            streams = {name: _with_characters(streams[name], side) for name, side in zip(names, spellings, strict=True)}
        return Batch(streams, {}, at)

    def _stream(self, texts: tuple[np.ndarray, ...]) -> Tokens:
        sizes = np.array([min(len(text), self.config.length) for text in texts])
        mask = np.arange(max(1, sizes.max())) < sizes[:, None]
        ids = np.full(mask.shape, self.special.pad_id, np.int64)
        ids[mask] = np.concatenate([text[:size] for text, size in zip(texts, sizes, strict=True)])
        return Tokens(ids, mask)


def _with_characters(stream: Tokens, spellings: tuple[np.ndarray, ...]) -> Tokens:
    """The stream with the characters (tokens, characters) of its out-of-vocabulary words, truncated like its rows."""
    characters = np.full((*stream.mask.shape, MAX_WORD_BYTES), PAD, np.int64)
    sizes = stream.mask.sum(1)
    characters[stream.mask] = np.concatenate([row[:size] for row, size in zip(spellings, sizes, strict=True)])
    return replace(stream, characters=characters)
