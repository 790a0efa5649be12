"""Tokens chosen to be predicted, most of them hidden (Devlin et al. 2019)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.data.randomness import generator
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target


class Masking:
    """Chooses a share of each row's tokens; of these most show [MASK], some any token, some themselves."""

    def __init__(self, config: schema.Masked, tokenizer: Tokenizer) -> None:
        self.config, self.mask = config, tokenizer.special.mask
        self.ordinary = np.setdiff1d(np.arange(tokenizer.size), sorted(tokenizer.special.ids))

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with hidden tokens, its weights 1 where they are to be predicted."""
        text, target = batch.streams["text"], batch.targets["text"]
        may = (target.weight > 0) & text.mask
        draws = self._draws(target, seed, at)  # (3, rows, time)
        told = chosen(may, draws[0], self.config.share)
        hidden = told & (draws[1] < self.config.hidden)
        other = told & ~hidden & (draws[1] < self.config.hidden + self.config.random)
        ids = np.where(hidden, self.mask, target.values)
        ids = np.where(other, self.ordinary[(draws[2] * len(self.ordinary)).astype(np.int64)], ids)
        asked = Target(target.values, told.astype(np.float32), target.place)
        return replace(batch, streams={"text": replace(text, ids=ids)}, targets={**batch.targets, "text": asked})

    def _draws(self, target: Target, seed: int, at: Cursor) -> np.ndarray:
        rows, time = target.values.shape
        if self.config.redraw == "always":
            return generator(seed, "mask", at.epoch, at.index).random((3, rows, time))
        turn = at.epoch % self.config.masks
        first = target.place.max(1)  # a place of the row's own: the same row has the same masks in its turn
        return np.stack([generator(seed, "mask", turn, int(place)).random((3, time)) for place in first], 1)


def chosen(may: np.ndarray, draws: np.ndarray, share: float) -> np.ndarray:
    """The tokens of each row with the lowest draws: a share of those that may be chosen, at least one."""
    most = np.where(may.any(1), np.maximum(1, np.rint(share * may.sum(1))), 0)
    order = np.argsort(np.where(may, draws, 2.0), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(may.shape[1])[None], axis=1)
    return may & (rank < most[:, None])
