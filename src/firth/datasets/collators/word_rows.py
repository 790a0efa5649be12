"""Batches of sentences as words, with a target for each layer of tags; bucketed by length, under a budget of tokens.

A sentence that is longer than a row is cut between words. Training cuts at the length of the configuration, evaluation
only where the network can read no more: there a sentence is whole, and every word has a prediction either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from firth.config.schema import SubwordRows, WordRows
from firth.datasets.collators.packing import BucketedBatches, PlannedBatches
from firth.datasets.label_ids import UNKNOWN_LABEL
from firth.datasets.word_dataset import TEXT, WORDS, WordSplit
from firth.errors import FirthError
from firth.types import Batch, Cursor, Target, Tokens, Words

_ANY_LENGTH = 1 << 40
_EVALUATION_TOKENS = 4096  # of a batch at least, if there are so many: without gradients, large batches are faster


class Pieces(NamedTuple):
    """Sentences, or parts of them: the first word, the one after the last, and the length of the row."""

    first: np.ndarray
    last: np.ndarray
    sizes: np.ndarray


class WordBatches(BucketedBatches):
    """One sentence per row, sentences of similar length in a batch."""

    config: WordRows
    split: WordSplit

    @staticmethod
    def context(config: WordRows) -> str:
        return "sentence"

    def evaluation_batches(self) -> Iterator[Batch]:
        """Every word once, in whole sentences if the network can read them."""
        return PlannedBatches.evaluation_batches(self._whole)

    @cached_property
    def _whole(self) -> WordBatches:
        tokens = max(self.config.tokens_per_batch, _EVALUATION_TOKENS)
        config = replace(self.config, length=_ANY_LENGTH, tokens_per_batch=tokens, batch_size=0)
        return replace(self, config=config)

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> Pieces:
        split = self.split
        if not isinstance(split, WordSplit):
            do = "give tagged sentences, and set data.kind=words"
            raise FirthError("no words to train on", where="data", do=do)
        room, units = split.room(self.config.length), split.units
        first, last = cut(split.starts, units, room)
        return Pieces(first, last, np.minimum(units[last] - units[first], room) + split.special_tokens)

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        most = self.config.batch_size or len(order)
        return [rows[at : at + most] for rows in super()._group(order) for at in range(0, len(rows), most)]

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        pieces = self._items()
        first, last = (edges[[number for (number,) in rows]] for edges in (pieces.first, pieces.last))
        mask = np.arange((last - first).max()) < (last - first)[:, None]
        positions = np.where(mask, first[:, None] + np.arange(mask.shape[1]), 0)
        targets = {layer: self._target(tags, positions, mask) for layer, tags in self.split.tags.items()}
        return Batch(self._streams(positions, mask, first, last), targets, at)

    def _streams(
        self, positions: np.ndarray, mask: np.ndarray, first: np.ndarray, last: np.ndarray
    ) -> dict[str, Words[np.ndarray] | Tokens[np.ndarray]]:
        subwords = None if self.split.token_ids is None else self._subwords(first, last)
        return {WORDS: self._words(positions, mask, subwords)}

    def _target(self, tags: np.ndarray, positions: np.ndarray, mask: np.ndarray) -> Target[np.ndarray]:
        values = tags[positions]
        known = mask & (values != UNKNOWN_LABEL)
        return Target(np.where(known, values, 0), known.astype(np.float32), positions)

    def _words(
        self, positions: np.ndarray, mask: np.ndarray, subwords: Tokens[np.ndarray] | None
    ) -> Words[np.ndarray]:
        split = self.split
        spelling = np.where(mask, split.ids[positions].astype(np.int64), -1)
        ids = np.where(mask, 0 if split.word_ids is None else split.word_ids[positions], 0)
        characters = split.characters[spelling] * mask[..., None]
        longest = int((characters != 0).sum(-1).max())
        shape = np.where(mask, split.casing[spelling], 0).astype(np.int64)
        return Words(ids, mask, characters[..., :longest], shape, spelling, subwords)

    def _subwords(self, first: np.ndarray, last: np.ndarray) -> Tokens[np.ndarray]:
        """The subword tokens of each row between special tokens, with the number of each one's word in the row."""
        before, after = self.split.around
        rows = [self._row(*span) for span in zip(first.tolist(), last.tolist(), strict=True)]
        sizes = np.array([len(before) + len(ids) + len(after) for ids, _ in rows])
        mask = np.arange(max(1, sizes.max())) < sizes[:, None]
        tokens = np.full(mask.shape, self.special.pad_id, np.int64)
        word_of = np.full(mask.shape, -1, np.int64)
        tokens[mask] = np.concatenate([part for ids, _ in rows for part in (before, ids, after)])
        nothing = [-1] * len(before), [-1] * len(after)
        word_of[mask] = np.concatenate([part for _, words in rows for part in (nothing[0], words, nothing[1])])
        return Tokens(tokens, mask, word_of=word_of)

    def _row(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """The subwords of a piece, and the word of each; one word that is too long for a row loses its end."""
        room = self.split.room(self.config.length)
        edges = self.split.token_starts[first : last + 1]
        words = np.repeat(np.arange(last - first), np.diff(edges))
        return self.split.token_ids[edges[0] : edges[-1]][:room], words[:room]


class SubwordBatches(WordBatches):
    """The same rows for a network that reads the subwords."""

    config: SubwordRows

    def _streams(
        self, positions: np.ndarray, mask: np.ndarray, first: np.ndarray, last: np.ndarray
    ) -> dict[str, Words[np.ndarray] | Tokens[np.ndarray]]:
        return {TEXT: self._subwords(first, last)}


def cut(starts: np.ndarray, units: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """The sentences that begin at the words `starts`, cut between words so that none has more than `room` units, of
    which word i has units[i + 1] - units[i]; a word with more is alone. The first word of each piece, and the one after
    its last."""
    fits = units[starts[1:]] - units[starts[:-1]] <= room
    if fits.all():
        filled = starts[:-1] < starts[1:]
        return starts[:-1][filled], starts[1:][filled]
    edges = []
    for first, last, whole in zip(starts[:-1].tolist(), starts[1:].tolist(), fits.tolist(), strict=True):
        while first < last:
            end = last if whole else int(np.searchsorted(units, units[first] + room, "right")) - 1
            end = min(max(end, first + 1), last)
            edges.append((first, end))
            first = end
    first, last = np.array(edges, np.int64).reshape(-1, 2).T
    return first, last
