"""Batches of questions with windows of their contexts: [CLS] question [SEP] window [SEP]."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from firth.config.schema import QuestionContext
from firth.datasets.collators.packing import PlannedBatches
from firth.datasets.collators.sentence_pairs import InputSequence, pad_sequences, special_tokens_around
from firth.datasets.question_dataset import QuestionSplit
from firth.errors import FirthError
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, Cursor, Target

START, END = "start", "end"  # the targets


class Window(NamedTuple):
    """A part of a question's context, in tokens, and where its first token is in the row."""

    question: int
    first: int
    last: int  # the token after the last
    offset: int


class Row(NamedTuple):
    """The tokens of a question and a window, and the window."""

    sequence: InputSequence
    window: Window


def make_rows(
    number: int, question: np.ndarray, context: np.ndarray, config: QuestionContext, special: SpecialTokens
) -> list[Row]:
    """A question with each window of its context: one, or several that overlap if the context is long."""
    first, between, last = special_tokens_around(config.layout, special)
    question = question[: config.question_length]
    offset = len(first) + len(question) + len(between)
    room = config.length - offset - len(last)
    if room < 1:
        what = f"batching.length = {config.length} leaves no room for a context after {len(question)} question tokens"
        raise FirthError(what, do="set it higher, or batching.question_length lower")
    rows, start, has_segments = [], 0, len(between) < 2
    while True:
        window = context[start : start + room]
        ids = np.concatenate([first, question, between, window, last]).astype(np.int64)
        segment = (np.arange(len(ids)) >= offset) & has_segments
        sequence = InputSequence(ids, segment.astype(np.int64))
        rows.append(Row(sequence, Window(number, start, start + len(window), offset)))
        if start + room >= len(context):
            return rows
        start += min(config.stride, room)


class WindowList(NamedTuple):
    """All windows, and the lengths of their rows."""

    first: list[Row]
    sizes: np.ndarray


class QuestionContextBatches(PlannedBatches):
    """Every window of every question once an epoch, windows of similar length in a batch."""

    config: QuestionContext
    split: QuestionSplit
    _POOL = 16  # batches sorted together

    @staticmethod
    def context(config: QuestionContext) -> str:
        return f"windows/{config.length}/{config.stride}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _items(self) -> WindowList:
        split = self.split
        if not isinstance(split, QuestionSplit):
            do = "give questions (SQuAD's JSON), and set data.kind=questions"
            raise FirthError("no questions to train on", where="data", do=do)
        rows = [
            row
            for number, question in enumerate(split.questions)
            for row in make_rows(number, question, split.context(number).ids, self.config, self.special)
        ]
        return WindowList(rows, np.array([len(row.sequence.ids) for row in rows]))

    def _group(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, size, plan = self._items().sizes, self.config.batch_size, []
        for start in range(0, len(order), size * self._POOL):
            pool = order[start : start + size * self._POOL]
            pool = pool[np.argsort(sizes[pool], kind="stable")].tolist()
            plan += [[[number] for number in pool[at : at + size]] for at in range(0, len(pool), size)]
        return plan

    def _collate(self, rows: list[list[int]], at: Cursor) -> Batch:
        items = [self._items().first[number] for (number,) in rows]
        spans = np.array([self._span(row.window) for row in items], np.int64)
        weight = np.ones(len(items), np.float32)
        text = pad_sequences([row.sequence for row in items], self.special, segments=True)
        return Batch({"text": text}, {START: Target(spans[:, 0], weight), END: Target(spans[:, 1], weight)}, at)

    def _span(self, window: Window) -> tuple[int, int]:
        """The answer in positions of the row; that of [CLS] if the window does not hold it whole."""
        assert self.split.spans is not None
        start, end = self.split.spans[window.question].tolist()
        if start < window.first or end >= window.last:
            return 0, 0
        return start - window.first + window.offset, end - window.first + window.offset
