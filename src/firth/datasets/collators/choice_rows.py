"""Batches of multiple-choice questions: a sequence for each choice, (questions, choices, time)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.config.schema import ChoiceRows
from firth.datasets.choice_dataset import ChoiceSplit
from firth.datasets.collators.collator import chunk_order, select_targets
from firth.datasets.collators.packing import PlannedBatches
from firth.datasets.collators.sentence_pairs import ExampleList, build_input_sequence, pad_examples
from firth.errors import FirthError
from firth.types import Batch, Cursor

CHOICE = "choice"  # the target


class ChoiceBatches(PlannedBatches):
    """Every question once an epoch, with all of its choices."""

    config: ChoiceRows
    split: ChoiceSplit

    @staticmethod
    def context(config: ChoiceRows) -> str:
        return f"choices/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> ExampleList:
        if not isinstance(self.split, ChoiceSplit):
            do = "give questions with choices, and set data.kind=choices"
            raise FirthError("no multiple-choice questions to train on", where="data", do=do)
        sizes = [max(len(one) + len(other) for one, other in question) for question in self.split.choices]
        return ExampleList(np.arange(len(self.split)), np.array(sizes))

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        return chunk_order(order, self.config.batch_size)

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        numbers = [number for (number,) in rows]
        examples = [
            [build_input_sequence(texts, self.config, self.special) for texts in self.split.choices[number]]
            for number in numbers
        ]
        assert self.split.target is not None
        text = pad_examples(examples, self.special, segments=True)
        return Batch({"text": text}, {CHOICE: select_targets(self.split.target, numbers)}, at)
