"""Rows whose beginning is seen both ways, the rest being predicted (Raffel et al. 2020)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.data.randomness import generator
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target


class Prefixed:
    """Cuts each row at a random place; the tokens before it are marked, those after it are to be predicted."""

    def __init__(self, config: schema.Prefix, tokenizer: Tokenizer) -> None:
        pass

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The same rows, cut."""
        size = batch.streams["text"].mask.sum(1)
        draws = generator(seed, "prefix", at.epoch, at.index).random(len(size))
        return _cut(batch, (draws * size).astype(np.int64))


def context_first(batch: Batch) -> Batch:
    """Where texts are scored: all that stands before the first predicted token is seen both ways."""
    return _cut(batch, (batch.targets["text"].weight > 0).argmax(1))


def _cut(batch: Batch, first: np.ndarray) -> Batch:
    """Predicted from the place `first` (rows,) of the row on: what is read up to there is known anyhow."""
    text, target = batch.streams["text"], batch.targets["text"]
    at = np.arange(text.ids.shape[1])
    marked = replace(text, prefix=(at <= first[:, None]) & text.mask)
    told = Target(target.values, target.weight * (at >= first[:, None]).astype(np.float32), target.place)
    return replace(batch, streams={**batch.streams, "text": marked}, targets={**batch.targets, "text": told})
