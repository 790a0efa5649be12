"""Tokens chosen to be predicted, most of them hidden (Devlin et al. 2019)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.data.randomness import generator
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target, Tokens


class Masking:
    """Chooses a share of each row's tokens; of these most show [MASK], some any token, some themselves."""

    def __init__(self, config: schema.Hiding, tokenizer: Tokenizer) -> None:
        if config.hidden + config.random > 1 + 1e-9:
            what = (
                f"objective.hidden + objective.random = {config.hidden + config.random:g}, more than all chosen tokens"
            )
            raise FirthError(what, do="lower one of them")
        self.config, self.mask = config, tokenizer.special.mask
        self.ordinary = np.setdiff1d(np.arange(tokenizer.size), sorted(tokenizer.special.ids | {*tokenizer.sentinels}))

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with hidden tokens, its weights 1 where they are to be predicted."""
        text, target = batch.streams["text"], batch.targets["text"]
        may = (target.weight > 0) & text.mask
        if self.config.redraw == "always":
            draws = generator(seed, "mask", at.epoch, at.index).random((3, *may.shape))
            told = chosen(may, draws[0], self.config.share)
        else:
            draws, told = self._in_turn(text, may, target.place, seed, at.epoch % self.config.masks)
        hidden = told & (draws[1] < self.config.hidden)
        other = told & ~hidden & (draws[1] < self.config.hidden + self.config.random)
        ids = np.where(hidden, self.mask, target.values)
        ids = np.where(other, self.ordinary[(draws[2] * len(self.ordinary)).astype(np.int64)], ids)
        asked = Target(target.values, told.astype(np.float32), target.place)
        return replace(batch, streams={"text": replace(text, ids=ids)}, targets={**batch.targets, "text": asked})

    def _in_turn(
        self, text: Tokens, may: np.ndarray, place: np.ndarray, seed: int, turn: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws (3, rows, time) and chosen tokens (rows, time): a piece has the same in its turn, whoever is beside."""
        marks = text.mask.astype(np.int64) if text.document is None else text.document
        draws, told = np.zeros((3, *may.shape)), np.zeros(may.shape, bool)
        pieces = [(row, mark) for row, last in enumerate(marks.max(1)) for mark in range(1, int(last) + 1)]
        for row, mark in pieces:
            here = np.flatnonzero(marks[row] == mark)
            known = place[row, here][may[row, here]]
            random = generator(seed, "mask", turn, int(known[0]) if len(known) else -1)
            draws[:, row, here] = random.random((3, len(here)))
            told[row, here] = chosen(may[row, here][None], draws[0, row, here][None], self.config.share)[0]
        return draws, told


def chosen(may: np.ndarray, draws: np.ndarray, share: float) -> np.ndarray:
    """The tokens of each row with the lowest draws: a share of those that may be chosen, at least one."""
    most = np.where(may.any(1), np.maximum(1, np.rint(share * may.sum(1))), 0)
    order = np.argsort(np.where(may, draws, 2.0), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(may.shape[1])[None], axis=1)
    return may & (rank < most[:, None])
