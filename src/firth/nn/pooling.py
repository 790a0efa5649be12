"""Pooling: the hidden states of a sequence as one vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn


def first(states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
    """The state of the first position (batch, width)."""
    return states[:, 0]


def last(states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
    """The state after the whole sequence: that of the last position, and in the half of a backward network (2
    directions) that of the first."""
    position = (mask.sum(1) - 1).clamp(min=0)[:, None, None]
    ends = states.gather(1, position.expand(-1, 1, states.shape[2])).squeeze(1)
    width = states.shape[2] // directions
    return ends if directions == 1 else torch.cat([ends[:, :width], states[:, 0, width:]], -1)


def mean(states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
    """The mean over the mask (batch, width)."""
    real = mask[..., None].to(states.dtype)
    return (states * real).sum(1) / real.sum(1)


def maximum(states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
    """The maximum of each dimension over the mask (batch, width)."""
    return states.masked_fill(~mask[..., None], -torch.inf).amax(1)


def last_max_mean(states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
    """The last state, the maximum and the mean, side by side (batch, 3 × width) (Howard and Ruder 2018)."""
    return torch.cat([pooling(states, mask, directions) for pooling in (last, maximum, mean)], -1)


class FixedPooling(nn.Module):
    """A pooling without parameters; `width` is that of its vectors."""

    def __init__(self, function: Callable[[Tensor, Tensor, int], Tensor], parts: int, width: int):
        super().__init__()
        self.function, self.width = function, parts * width

    def forward(self, states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
        """Hidden states (batch, time, width) -> (batch, parts × width)."""
        return self.function(states, mask, directions)


class AttentionPooling(nn.Module):
    """The mean weighted by a softmax of the scores v · tanh(W h + b) (Yang et al. 2016)."""

    def __init__(self, width: int):
        super().__init__()
        self.hidden, self.score, self.width = nn.Linear(width, width), nn.Linear(width, 1, bias=False), width

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """The weight of each position (batch, time), 0 at padding."""
        scores: Tensor = self.score(torch.tanh(self.hidden(states))).squeeze(-1).float()
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def forward(self, states: Tensor, mask: Tensor, directions: int = 1) -> Tensor:
        """Hidden states (batch, time, width) -> (batch, width)."""
        weights = self.weights(states, mask)[..., None].to(states.dtype)
        return (weights * states).sum(1)


POOLINGS: dict[str, Callable[[int], FixedPooling | AttentionPooling]] = {  # by name: from the width of states
    "first": partial(FixedPooling, first, 1),
    "last": partial(FixedPooling, last, 1),
    "mean": partial(FixedPooling, mean, 1),
    "max": partial(FixedPooling, maximum, 1),
    "last-max-mean": partial(FixedPooling, last_max_mean, 3),
    "attention": AttentionPooling,
}
