"""Rows for examples of tasks: one or two texts joined in a row, or two texts that belong together in two rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from firth.config.schema import Apart, Joined
from firth.data.batches.common import labelled, one_by_one
from firth.data.batches.rows import Pieces, RowBatches
from firth.data.material import ExampleSplit
from firth.data.randomness import generator
from firth.errors import FirthError
from firth.text.special import Special
from firth.types import Batch, Cursor, Tokens

LABEL = "label"  # the target's name
LEFT, RIGHT = "left", "right"  # the streams' names


class Framed(NamedTuple):
    """A row: its tokens, and of which text each is."""

    ids: np.ndarray
    segment: np.ndarray


def framed(texts: Sequence[Sequence[int]], config: Joined | Apart, special: Special) -> Framed:
    """One or two texts between their marks, cut to the row's length; of two the longer one is cut first."""
    first, last = (special.cls, special.sep) if config.frame == "first" else (special.start, special.cls)
    room = config.length - 1 - len(texts)
    sizes = [min(len(texts[0]), room)]
    if len(texts) == 2:
        one = min(len(texts[0]), max(room - room // 2, room - len(texts[1])))
        sizes = [one, min(len(texts[1]), room - one)]
    marks = [special.sep] * (len(texts) - 1) + [last]
    parts = [[first]]
    for text, size, mark in zip(texts, sizes, marks, strict=True):
        parts += [text[:size], [mark]]
    segment = np.repeat(np.arange(len(texts)), [size + 1 for size in sizes])
    return Framed(np.concatenate(parts).astype(np.int64), np.concatenate([[0], segment]))


def stacked(rows: Sequence[Framed], special: Special, *, segments: bool = False) -> Tokens:
    """Rows as one stream, padded at the end."""
    sizes = np.array([len(row.ids) for row in rows])
    mask = np.arange(sizes.max()) < sizes[:, None]
    ids = np.full(mask.shape, special.padding, np.int64)
    ids[mask] = np.concatenate([row.ids for row in rows])
    if not segments:
        return Tokens(ids, mask)
    segment = np.zeros(mask.shape, np.int64)
    segment[mask] = np.concatenate([row.segment for row in rows])
    return Tokens(ids, mask, segment=segment)


class Listed(NamedTuple):
    """The examples that take part, by number, and how long their rows are."""

    first: np.ndarray
    sizes: np.ndarray


class JoinedBatches(RowBatches):
    """Labelled examples; each batch has as many rows, of similar length."""

    config: Joined
    split: ExampleSplit
    _POOL = 16  # batches that are sorted together: enough for like lengths, few enough to keep the order random

    @staticmethod
    def context(config: Joined) -> str:
        return f"joined/{config.length}"

    @lru_cache(maxsize=1)  # noqa: B019 - one list; the object lives as long as the run
    def _pieces(self) -> Listed:
        split = self.split
        if not isinstance(split, ExampleSplit) or split.labels is None:
            raise FirthError("no labels to learn from", where="data", do="give labelled texts: a file or a set of them")
        if len(split.names) < 2:
            what = f"1 label in the training examples ({split.names[0]})"
            raise FirthError(what, where="data", do="give texts of at least two labels")
        sizes = np.diff(split.starts).reshape(-1, split.parts).sum(1) + 1  # [END] of each text makes room for a mark
        return Listed(np.arange(len(split)), np.minimum(sizes, self.config.length))

    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        sizes, rows, plan = self._pieces().sizes, self.config.rows, []
        for start in range(0, len(order), rows * self._POOL):
            pool = order[start : start + rows * self._POOL]
            pool = pool[np.argsort(sizes[pool], kind="stable")].tolist()
            plan += [[[number] for number in pool[at : at + rows]] for at in range(0, len(pool), rows)]
        return plan

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        numbers = [number for (number,) in rows]
        made = [framed(self.split.texts(number), self.config, self.special) for number in numbers]
        text = stacked(made, self.special, segments=self.split.parts > 1)
        return Batch({"text": text}, {LABEL: labelled(self.split.labels[numbers])}, at)


class ApartBatches(RowBatches):
    """Texts that belong together, drawn at random: the other rows of a batch are what they do not belong to."""

    config: Apart

    @staticmethod
    def context(config: Apart) -> str:
        return f"apart/{config.length}"

    def once(self) -> Iterator[Batch]:
        """Every pair once, in an order that has nothing to do with that of the text."""
        order = generator(0, "once").permutation(len(self._pieces().first))
        for index, rows in enumerate(self._arrange(order)):
            yield self._fill(rows, Cursor(0, index))

    @lru_cache(maxsize=1)  # noqa: B019
    def _pieces(self) -> Pieces | Listed:
        if isinstance(self.split, ExampleSplit):
            together = belonging(self.split, self.config)
            if not len(together):
                raise _none_together(self.split, self.config)
            return Listed(together, np.zeros(len(together), np.int64))
        return Pieces.of(self.split, self.config.length - 2, end=1)

    def _arrange(self, order: np.ndarray) -> list[list[list[int]]]:
        return one_by_one(order, self.config.rows)

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        pieces = self._pieces()
        texts = [self._texts(pieces, number) for (number,) in rows]
        sides = [[framed([text[side]], self.config, self.special) for text in texts] for side in (0, -1)]
        left, right = (stacked(side, self.special) for side in sides)
        return Batch({LEFT: left, RIGHT: right}, {}, at)

    def _texts(self, pieces: Pieces | Listed, number: int) -> list[np.ndarray]:
        """Two texts, or one that stands for both."""
        if isinstance(self.split, ExampleSplit):
            return self.split.texts(int(pieces.first[number]))
        return [self.split.ids[int(pieces.first[number]) : int(pieces.last[number])]]


def belonging(split: ExampleSplit, config: Apart) -> np.ndarray:
    """The numbers of the examples whose texts belong together: all, but where scores or labels tell otherwise."""
    if split.scores is not None:
        return np.flatnonzero(split.scores >= config.least)
    if split.parts > 1 and split.names:
        wanted = [number for number, name in enumerate(split.names) if name in config.labels]
        return np.flatnonzero(np.isin(split.labels, wanted))
    return np.arange(len(split))


def _none_together(split: ExampleSplit, config: Apart) -> FirthError:
    if split.scores is not None:
        what = f"no pairs with a score of at least {config.least:g}"
        return FirthError(what, where=split.name, do="set batching.least lower")
    what = f"no pairs with the label {' or '.join(config.labels) or 'of those that belong together'}"
    return FirthError(what, where=split.name, do=f"say which labels do: --set batching.labels={split.names[0]}")
