"""Permutation language modelling (XLNet; Yang et al. 2019): a random factorization order of each sequence's tokens, the
last of which are predicted, each from all tokens before it in the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target, generator


class Permutation:
    """Selects spans of each row as targets and samples a factorization order that ends with them; inputs are unmasked.

    The ranks in the order become the attention mask of two-stream attention."""

    def __init__(self, config: schema.PermutationLM, tokenizer: Tokenizer) -> None:
        self.config = config

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with factorization ranks; target weights are 1 where a token is predicted."""
        text, target = batch.streams["text"], batch.targets["text"]
        random = generator(seed, "permutation", at.epoch, at.index)
        selected = self.select_targets((target.weight > 0) & text.mask, random)
        rank = factorization_ranks(selected, text.mask, random, targets_only=self.config.permute == "targets")
        inputs = replace(text, ids=np.where(text.mask, target.values, text.ids), rank=rank)
        predicted = Target(target.values, selected.astype(np.float32), target.positions)
        return replace(batch, streams={"text": inputs}, targets={**batch.targets, "text": predicted})

    def select_targets(self, candidates: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The tokens to predict (rows, time): a fraction of the candidates of each row, at least one."""
        counts = np.maximum(1, np.rint(self.config.predict_fraction * candidates.sum(1)))
        counts = np.where(candidates.any(1), counts, 0).astype(int)
        rows = zip(candidates, counts, strict=True)
        return np.stack([sample_spans(*row, self.config.max_span_length, random) for row in rows])


def sample_spans(candidates: np.ndarray, count: int, max_length: int, random: np.random.Generator) -> np.ndarray:
    """`count` of the candidates (time,), in spans of 1 to `max_length` tokens, length n with probability ∝ 1/n."""
    cumulative = np.cumsum(1 / np.arange(1, max_length + 1))
    selected = np.zeros_like(candidates)
    while (missing := count - int(selected.sum())) > 0:
        size = min(missing, 1 + int(np.searchsorted(cumulative, random.random() * cumulative[-1])))
        free = np.flatnonzero(candidates & ~selected)
        first = int(free[random.integers(len(free))])
        selected[first : first + size] |= candidates[first : first + size]
    return selected


def factorization_ranks(
    predicted: np.ndarray, mask: np.ndarray, random: np.random.Generator, *, targets_only: bool
) -> np.ndarray:
    """The rank of each token in its row's factorization order (rows, time): predicted tokens last, then padding.

    `targets_only`: only predicted tokens have an order; all others have rank 0 and so attend to each other.
    """
    order = np.argsort(random.random(predicted.shape) + predicted + 2 * ~mask, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(predicted.shape[1])[None], axis=1)
    context_size = (mask & ~predicted).sum(1)[:, None]
    return np.where(predicted, rank - context_size + 1, 0) if targets_only else rank
