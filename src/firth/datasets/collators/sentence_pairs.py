"""Batches of task examples: sentence classification, sentence pairs in one sequence, and two towers.

A sentence pair is one sequence between special tokens, [CLS] A [SEP] B [SEP], as a cross-encoder reads it. For two
towers (a bi-encoder trained by a contrastive loss) the two texts of a positive pair are sequences of their own, and
the other texts of the batch are the negatives (in-batch negatives).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from firth.config.schema import SentencePairs, TwoTowers
from firth.datasets.collators.collator import chunk_order, select_targets
from firth.datasets.collators.packing import Chunks, PlannedBatches
from firth.datasets.training_data import ExampleSplit
from firth.errors import FirthError
from firth.tokenizers.special_tokens import SpecialTokens, special_tokens_around
from firth.types import Batch, Cursor, Tokens, generator

LABEL = "label"  # the target's name
LEFT, RIGHT = "left", "right"  # the streams' names


class InputSequence(NamedTuple):
    """The token ids of one sequence, and the segment (first or second text) of each."""

    ids: np.ndarray
    segment: np.ndarray


def build_input_sequence(
    texts: Sequence[Sequence[int]], config: SentencePairs | TwoTowers, special: SpecialTokens
) -> InputSequence:
    """One or two texts between special tokens, truncated to the configured length; of two the longer one first."""
    first, between, last = special_tokens_around(config.layout, special)
    room = config.length - len(first) - len(between) * (len(texts) - 1) - len(last)
    sizes = [min(len(texts[0]), room)]
    if len(texts) == 2:
        one = min(len(texts[0]), max(room - room // 2, room - len(texts[1])))
        sizes = [one, min(len(texts[1]), room - one)]
    separators = [between] * (len(texts) - 1) + [last]
    parts, segment = [first], [0] * len(first)
    for number, (text, size, separator) in enumerate(zip(texts, sizes, separators, strict=True)):
        parts += [text[:size], separator]
        segment += [number * (len(between) < 2)] * (size + len(separator))
    ids = np.concatenate(parts).astype(np.int64)
    if not len(ids):  # an empty text without special tokens: padding stands for it
        return InputSequence(np.array([special.pad_id]), np.array([0]))
    return InputSequence(ids, np.array(segment))


def pad_sequences(sequences: Sequence[InputSequence], special: SpecialTokens, *, segments: bool = False) -> Tokens:
    """The sequences as one stream, padded at the end."""
    sizes = np.array([len(sequence.ids) for sequence in sequences])
    mask = np.arange(sizes.max()) < sizes[:, None]
    ids = np.full(mask.shape, special.pad_id, np.int64)
    ids[mask] = np.concatenate([sequence.ids for sequence in sequences])
    if not segments:
        return Tokens(ids, mask)
    segment = np.zeros(mask.shape, np.int64)
    segment[mask] = np.concatenate([sequence.segment for sequence in sequences])
    return Tokens(ids, mask, segment=segment)


def sequences_of(texts: Sequence[Sequence[int]], config: SentencePairs | TwoTowers) -> list[list[Sequence[int]]]:
    """The texts of each sequence of an example."""
    if config.pair_encoding == "siamese":
        return [[text] for text in texts]
    one = list(texts)
    return [one, one[::-1]] if config.pair_encoding == "both-orders" and len(one) > 1 else [one]


def pad_examples(
    examples: Sequence[Sequence[InputSequence]], special: SpecialTokens, *, segments: bool = False
) -> Tokens:
    """The examples as one stream; where they have several sequences each, (examples, sequences, time)."""
    count = max(map(len, examples))
    missing = InputSequence(np.array([special.pad_id]), np.array([0]))  # has one token, so that poolings are defined
    padded = [sequence for example in examples for sequence in (*example, *[missing] * (count - len(example)))]
    tokens = pad_sequences(padded, special, segments=segments)
    if count == 1:
        return tokens
    shape = (len(examples), count, tokens.ids.shape[1])
    segment = None if tokens.segment is None else tokens.segment.reshape(shape)
    there = np.arange(count) < np.array([len(example) for example in examples])[:, None]
    return Tokens(tokens.ids.reshape(shape), tokens.mask.reshape(shape), segment=segment, sequences=there)


class ExampleList(NamedTuple):
    """The numbers of the examples that are used, and the lengths of their sequences."""

    first: np.ndarray
    sizes: np.ndarray


class SentencePairBatches(PlannedBatches):
    """Labelled examples, one or two texts in a sequence; bucketed by length, with a fixed batch size."""

    config: SentencePairs
    split: ExampleSplit
    _POOL = 16  # batches sorted together: enough for similar lengths, few enough to keep the order random

    @staticmethod
    def context(config: SentencePairs) -> str:
        return f"sentence-pairs/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> ExampleList:
        split = self.split
        if not isinstance(split, ExampleSplit) or split.target is None:
            raise FirthError("no labels to train on", where="data", do="give labelled texts: a file or a data set")
        if self.config.pair_encoding == "siamese" and split.texts_per_example < 2:
            what = "single texts, and the network compares two"
            raise FirthError(what, where="batching.pair_encoding", do="give pairs, or set it to cross")
        # [END] of each text counts as the special token after it
        sizes = np.diff(split.starts).reshape(-1, split.texts_per_example).sum(1) + 1
        return ExampleList(np.arange(len(split)), np.minimum(sizes, self.config.length))

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, batch_size, plan = self._items().sizes, self.config.batch_size, []
        for start in range(0, len(order), batch_size * self._POOL):
            pool = order[start : start + batch_size * self._POOL]
            pool = pool[np.argsort(sizes[pool], kind="stable")].tolist()
            plan += [[[number] for number in pool[at : at + batch_size]] for at in range(0, len(pool), batch_size)]
        return plan

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        numbers = [number for (number,) in rows]
        examples = [
            [build_input_sequence(texts, self.config, self.special) for texts in sequences_of(example, self.config)]
            for example in map(self.split.texts, numbers)
        ]
        text = pad_examples(examples, self.special, segments=self.split.texts_per_example > 1)
        return Batch({"text": text}, {LABEL: select_targets(self.split.target, numbers)}, at)


class TwoTowerBatches(PlannedBatches):
    """Positive pairs in random order, left and right texts apart: the other pairs of a batch are the negatives."""

    config: TwoTowers

    @staticmethod
    def context(config: TwoTowers) -> str:
        return f"two-towers/{config.length}"

    def evaluation_batches(self) -> Iterator[Batch]:
        """Every pair once, shuffled, so that the negatives are not neighbours in the text."""
        order = generator(0, "once").permutation(len(self._items().first))
        for index, rows in enumerate(self._group(order)):
            yield self._collate(rows, Cursor(0, index))

    @lru_cache(maxsize=1)  # noqa: B019
    def _items(self) -> Chunks | ExampleList:
        if isinstance(self.split, ExampleSplit):
            positives = positive_pairs(self.split, self.config)
            if not len(positives):
                raise _no_positive_pairs(self.split, self.config)
            return ExampleList(positives, np.zeros(len(positives), np.int64))
        return Chunks.of(self.split, self.config.length - 2, drop_last=1)

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        return chunk_order(order, self.config.batch_size)

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        items = self._items()
        texts = [self._texts(items, number) for (number,) in rows]
        sides = [[build_input_sequence([text[side]], self.config, self.special) for text in texts] for side in (0, -1)]
        left, right = (pad_sequences(side, self.special) for side in sides)
        return Batch({LEFT: left, RIGHT: right}, {}, at)

    def _texts(self, items: Chunks | ExampleList, number: int) -> list[np.ndarray]:
        """Two texts, or one that is its own partner."""
        if isinstance(self.split, ExampleSplit):
            return self.split.texts(int(items.first[number]))
        return [self.split.ids[int(items.first[number]) : int(items.last[number])]]


def positive_pairs(split: ExampleSplit, config: TwoTowers) -> np.ndarray:
    """The numbers of the positive examples: by their scores or labels if they have any, else all."""
    if split.scores is not None:
        return np.flatnonzero(split.scores >= config.min_score)
    if split.texts_per_example > 1 and split.label_names:
        positive = [number for number, name in enumerate(split.label_names) if name in config.positive_labels]
        return np.flatnonzero(np.isin(split.labels, positive))
    return np.arange(len(split))


def _no_positive_pairs(split: ExampleSplit, config: TwoTowers) -> FirthError:
    if split.scores is not None:
        what = f"no pairs with a score of at least {config.min_score:g}"
        return FirthError(what, where=split.name, do="lower batching.min_score")
    labels = " or ".join(config.positive_labels)
    what = f"no pairs with the label {labels}" if labels else "no label is named as positive, so there are no pairs"
    do = f"name the labels of positive pairs: --set batching.positive_labels={split.label_names[0]}"
    return FirthError(what, where=split.name, do=do)
