"""Prefix LM, the prefix language model (Raffel et al. 2020): attention is bidirectional over the prefix of a sequence
and causal after it; only the tokens after the prefix are predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target, generator


class PrefixSplit:
    """Cuts each row at a random position into a prefix and the tokens to predict."""

    def __init__(self, config: schema.PrefixLM, tokenizer: Tokenizer) -> None:
        pass

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with prefix marks; target weights are 0 within the prefix."""
        lengths = batch.streams["text"].mask.sum(1)
        uniform = generator(seed, "prefix", at.epoch, at.index).random(len(lengths))
        return _with_prefix(batch, (uniform * lengths).astype(np.int64))


def context_as_prefix(batch: Batch) -> Batch:
    """For evaluation: all tokens before the first predicted one are the prefix."""
    return _with_prefix(batch, (batch.targets["text"].weight > 0).argmax(1))


def _with_prefix(batch: Batch, first: np.ndarray) -> Batch:
    """Predict from position `first` (rows,) on; the inputs up to and including it are the prefix."""
    text, target = batch.streams["text"], batch.targets["text"]
    positions = np.arange(text.ids.shape[1])
    inputs = replace(text, prefix=(positions <= first[:, None]) & text.mask)
    weight = target.weight * (positions >= first[:, None]).astype(np.float32)
    predicted = Target(target.values, weight, target.positions)
    return replace(batch, streams={**batch.streams, "text": inputs}, targets={**batch.targets, "text": predicted})
