"""An order in which the tokens of a row are to be told, and which of them: the last ones (Yang et al. 2019)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.data.randomness import generator
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target


class Permuting:
    """Chooses runs of each row's tokens and an order that ends with them; the row shows the tokens as they stand."""

    def __init__(self, config: schema.Permuted, tokenizer: Tokenizer) -> None:
        self.config = config

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with ranks, its weights 1 where tokens are to be predicted."""
        text, target = batch.streams["text"], batch.targets["text"]
        random = generator(seed, "permutation", at.epoch, at.index)
        told = self.told((target.weight > 0) & text.mask, random)
        rank = ranks(told, text.mask, random, alone=self.config.ordered == "asked")
        shown = replace(text, ids=np.where(text.mask, target.values, text.ids), rank=rank)
        asked = Target(target.values, told.astype(np.float32), target.place)
        return replace(batch, streams={"text": shown}, targets={**batch.targets, "text": asked})

    def told(self, may: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The tokens to be predicted (rows, time): a share of those of each row that may be, at least one."""
        counts = np.where(may.any(1), np.maximum(1, np.rint(self.config.share * may.sum(1))), 0).astype(int)
        return np.stack([runs(*row, self.config.longest, random) for row in zip(may, counts, strict=True)])


def runs(may: np.ndarray, count: int, longest: int, random: np.random.Generator) -> np.ndarray:
    """`count` of the tokens that may be chosen (time,), in runs of 1 to `longest`, of length n as often as 1/n."""
    chances = np.cumsum(1 / np.arange(1, longest + 1))
    told = np.zeros_like(may)
    while (left := count - int(told.sum())) > 0:
        size = min(left, 1 + int(np.searchsorted(chances, random.random() * chances[-1])))
        free = np.flatnonzero(may & ~told)
        first = int(free[random.integers(len(free))])
        told[first : first + size] |= may[first : first + size]
    return told


def ranks(told: np.ndarray, mask: np.ndarray, random: np.random.Generator, *, alone: bool) -> np.ndarray:
    """Of each token in an order drawn for its row (rows, time): those to be told come last, then padding.

    `alone`: only they have an order, after the others, which are all of rank 0 and so see each other.
    """
    order = np.argsort(random.random(told.shape) + told + 2 * ~mask, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(told.shape[1])[None], axis=1)
    shown = (mask & ~told).sum(1)[:, None]
    return np.where(told, rank - shown + 1, 0) if alone else rank
