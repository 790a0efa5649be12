"""Batches of dialogues for a decoder, bucketed by length: only replies are predicted."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.config.schema import DialogueRows
from firth.datasets.collators.collator import make_batch
from firth.datasets.collators.packing import BucketedBatches
from firth.datasets.collators.sentence_pairs import ExampleList
from firth.datasets.dialogue_dataset import DialogueSplit
from firth.datasets.dialogue_rows import DialogueRow, dialogue_rows
from firth.errors import FirthError
from firth.types import Batch, Cursor


class DialogueBatches(BucketedBatches):
    """A row for each dialogue, or several for a long one. The weight of a target is 1 within replies, 0 elsewhere."""

    config: DialogueRows
    split: DialogueSplit

    @staticmethod
    def context(config: DialogueRows) -> str:
        return f"dialogues/{config.length}"

    @property
    def rows(self) -> list[DialogueRow]:
        """All rows of the split."""
        return self._rows()

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _rows(self) -> list[DialogueRow]:
        if not isinstance(self.split, DialogueSplit):
            do = "give dialogues, and set data.kind=dialogues"
            raise FirthError("no dialogues to train on", where="data", do=do)
        end = self.special.end
        return [row for turns in self.split.dialogues for row in dialogue_rows(turns, self.config.length, end)]

    @lru_cache(maxsize=1)  # noqa: B019
    def _items(self) -> ExampleList:
        return ExampleList(np.arange(len(self.rows)), np.array([len(row.ids) for row in self.rows]))

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        chosen, special = [self.rows[number] for (number,) in rows], self.special
        sizes = np.array([len(row.ids) for row in chosen])
        mask = np.arange(sizes.max()) < sizes[:, None]
        values, predicted = np.full(mask.shape, special.pad_id, np.int64), np.zeros(mask.shape, bool)
        values[mask] = np.concatenate([row.ids for row in chosen])
        predicted[mask] = np.concatenate([row.predicted for row in chosen])
        before = np.roll(values, 1, axis=1)
        before[:, 0] = special.end
        inputs = np.where(mask, np.where(before == special.end, special.bos_id, before), special.pad_id)
        return make_batch(inputs, values, mask, np.zeros_like(values), at, reset_state=True, predicted=predicted)
