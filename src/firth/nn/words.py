"""Words over tokens: the hidden states of subwords as states of words."""

from __future__ import annotations

import torch
from torch import Tensor


def first_subword(states: Tensor, word_of: Tensor, count: int) -> Tensor:
    """The state of each word's first token (batch, count, width)."""
    return _gather(states, _ends(word_of, count, "amin"))


def last_subword(states: Tensor, word_of: Tensor, count: int) -> Tensor:
    """The state of each word's last token (batch, count, width)."""
    return _gather(states, _ends(word_of, count, "amax"))


def mean_of_subwords(states: Tensor, word_of: Tensor, count: int) -> Tensor:
    """The mean state of each word's tokens (batch, count, width)."""
    word = torch.where(word_of < 0, count, word_of)  # a further word takes what belongs to none
    sums = states.new_zeros(len(states), count + 1, states.shape[2])
    sums = sums.scatter_add(1, word[..., None].expand_as(states), states)
    sizes = states.new_zeros(len(states), count + 1).scatter_add(1, word, torch.ones_like(word, dtype=states.dtype))
    return sums[:, :count] / sizes[:, :count, None].clamp(min=1)


SUBWORD_POOLINGS = {"first": first_subword, "last": last_subword, "mean": mean_of_subwords}


def pool_words(states: Tensor, word_of: Tensor, pooling: str) -> tuple[Tensor, Tensor]:
    """Token states (batch, time, width) -> word states (batch, words, width) and their mask (batch, words); `word_of`
    (batch, time) is each token's word, or -1."""
    count = int(word_of.max()) + 1
    mask = torch.arange(count, device=word_of.device) <= word_of.amax(1, keepdim=True)
    return SUBWORD_POOLINGS[pooling](states, word_of, count) * mask[..., None].to(states.dtype), mask


def _ends(word_of: Tensor, count: int, reduce: str) -> Tensor:
    """The position of each word's first (amin) or last (amax) token (batch, count)."""
    position = torch.arange(word_of.shape[1], device=word_of.device).expand_as(word_of)
    word = torch.where(word_of < 0, count, word_of)
    ends = position.new_zeros(len(word_of), count + 1)
    return ends.scatter_reduce(1, word, position, reduce, include_self=False)[:, :count]


def _gather(states: Tensor, position: Tensor) -> Tensor:
    return states.gather(1, position[..., None].expand(-1, -1, states.shape[2]))
