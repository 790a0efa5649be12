"""Segment pairs for next sentence prediction (BERT; Devlin et al. 2019): [CLS] A [SEP] B [SEP], or [CLS] A [SEP] alone.

Segment B continues segment A or, half of the time, comes from another document; the target "next" says which. The
corruption for masked language modelling chooses the tokens to predict later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firth.config.schema import SegmentPairs
from firth.datasets.collators.packing import Chunks, PackedBatches
from firth.datasets.token_cache import Split
from firth.errors import FirthError
from firth.types import Batch, Cursor, Target, Tokens, generator


@dataclass(frozen=True)
class SegmentChunks(Chunks):
    """Chunks of documents without [END], with room for their special tokens."""

    special_count: int = 2  # [CLS], and a [SEP] for each segment

    @classmethod
    def fitting(cls, split: Split, length: int, special_count: int) -> SegmentChunks:
        """Documents cut so that a chunk and its special tokens have at most `length` tokens."""
        whole = Chunks.of(split, length - special_count, drop_last=1)
        return cls(whole.first, whole.last, special_count)

    def splittable(self, split: Split) -> SegmentChunks:
        """The chunks that can be cut into two segments; an error if they are all of one document."""
        whole = self.last - self.first > 1
        chunks = SegmentChunks(self.first[whole], self.last[whole], self.special_count)
        if len(np.unique(chunks.documents(split))) < 2:
            do = "give more documents (--document line or paragraph), or leave batching.pairs at none"
            what = f"segment pairs need at least two documents of two tokens, which {split.name} has not"
            raise FirthError(what, where="batching.pairs", do=do)
        return chunks

    def documents(self, split: Split) -> np.ndarray:
        """The number of the document that each chunk is from."""
        return np.searchsorted(np.asarray(split.starts), self.first, side="right") - 1

    @property
    def sizes(self) -> np.ndarray:
        """The tokens of each chunk, its special tokens counted."""
        return self.last - self.first + self.special_count


@dataclass(frozen=True, eq=False)
class SegmentPairBatches(PackedBatches):
    """Segments or segment pairs packed into rows; the targets are the uncorrupted tokens."""

    config: SegmentPairs

    def __post_init__(self) -> None:
        if self.pairs:
            self._items()

    @staticmethod
    def context(config: SegmentPairs) -> str:
        return f"segment-pairs/{config.length}"

    @property
    def pairs(self) -> bool:
        """Whether each chunk becomes a pair of segments, for next sentence prediction."""
        return self.config.pairs == "next-sentence"

    @lru_cache(maxsize=1)  # noqa: B019 - one plan; the object lives as long as the run
    def _items(self) -> SegmentChunks:
        chunks = SegmentChunks.fitting(self.split, self.config.length, 3 if self.pairs else 2)
        return chunks.splittable(self.split) if self.pairs else chunks

    @lru_cache(maxsize=1)  # noqa: B019
    def _documents(self) -> np.ndarray:
        return self._items().documents(self.split)

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        random = generator(self.seed, "pairs", at.epoch, at.index)
        examples = [[self._example(example, random) for example in row] for row in rows]
        width = max(sum(len(example.ids) for example in row) for row in examples)
        table = np.zeros((6, len(rows), width), np.int64)  # ids, document, segment, positions, is_text, is_next
        table[0] = self.special.pad_id
        next_weight = np.zeros((len(rows), width), np.float32)
        for number, row in enumerate(examples):
            start = 0
            for document_id, example in enumerate(row, 1):
                span = slice(start, start + len(example.ids))
                table[:5, number, span] = np.stack(
                    np.broadcast_arrays(
                        example.ids, document_id, example.segment, example.positions, example.positions >= 0
                    )
                )
                table[5, number, start], next_weight[number, start] = example.is_next, float(self.pairs)
                start = span.stop
        ids, document, segment, positions, is_text, is_next = table
        alone = all(len(row) == 1 for row in rows)  # then the padding mask is enough
        text = Tokens(ids, document > 0, None if alone else document, segment if self.pairs else None)
        targets = {"text": Target(ids, is_text.astype(np.float32), positions)}
        targets |= {"next": Target(is_next, next_weight)} if self.pairs else {}
        return Batch({"text": text}, targets, at)

    def _example(self, number: int, random: np.random.Generator) -> _Example:
        chunks = self._items()
        first, last = int(chunks.first[number]), int(chunks.last[number])
        if not self.pairs:
            return self._with_special_tokens([np.arange(first, last)], is_next=True)
        cut = first + int(random.integers(1, last - first))
        rest = np.arange(cut, last)
        is_next = bool(random.random() < 0.5)
        second = rest if is_next else self._random_segment(number, len(rest), random)
        return self._with_special_tokens([np.arange(first, cut), second], is_next=is_next)

    def _random_segment(self, number: int, size: int, random: np.random.Generator) -> np.ndarray:
        """The positions of at most `size` tokens at the end of a chunk of another document, without its first token:
        like a true continuation, so that neither the first token nor the last gives the answer away."""
        chunks, documents = self._items(), self._documents()
        first, last = np.searchsorted(documents, [documents[number], documents[number] + 1])  # of its own document
        other = int(random.integers(len(documents) - (last - first)))
        other += (last - first) if other >= first else 0
        begin, end = int(chunks.first[other]), int(chunks.last[other])
        return np.arange(max(begin + 1, end - size), end)

    def _with_special_tokens(self, segments: list[np.ndarray], *, is_next: bool) -> _Example:
        """The segments between [CLS] and [SEP]; special tokens have position -1."""
        ids, positions, segment_ids = [[self.special.cls]], [[-1]], [[0]]
        for segment_id, segment in enumerate(segments):
            ids += [self.split.ids[segment], [self.special.sep]]
            positions += [segment, [-1]]
            segment_ids += [np.full(len(segment) + 1, segment_id)]
        return _Example(*(np.concatenate(part) for part in (ids, positions, segment_ids)), is_next)


@dataclass(frozen=True)
class _Example:
    ids: np.ndarray
    positions: np.ndarray
    segment: np.ndarray
    is_next: bool
