"""A distribution over the vocabulary, mixed with the tokens of the source (See et al. 2017)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from firth.config import schema
from firth.errors import FirthError
from firth.heads.language import LanguageHead
from firth.types import Target

TINY = 1e-20  # a probability of 0 has no logarithm


class Looked(NamedTuple):
    """Where in the source each token looks, and what stands there."""

    weights: Tensor  # (batch, time, source); those of a window around a place sum to less than one
    ids: Tensor  # (batch, source)

    @property
    def chances(self) -> Tensor:
        """How probable it is that each of the source is copied (batch, time, source)."""
        return self.weights / self.weights.sum(-1, keepdim=True).clamp(min=TINY)


class CopyingHead(LanguageHead):
    """A gate decides between writing a word of one's own and copying one of the source, as it is looked at."""

    def __init__(self, config: schema.CopyingHead, vocabulary: int, width: int, table_width: int):
        super().__init__(config, vocabulary, width, table_width)
        if config.sampled:
            do = "set it to 0"
            raise FirthError("a head that copies needs every token's probability", where="head.sampled", do=do)
        self.gate = nn.Linear(width, 1)

    def loss(self, states: Tensor, target: Target, table: Tensor | None, looked: Looked) -> Tensor:
        """The sum of weight × -log p(value); states (batch, time, width), targets (batch, time)."""
        own = super().log_probabilities(states, table).gather(-1, target.values[..., None]).squeeze(-1)
        there = looked.ids[:, None] == target.values[..., None]  # (batch, time, source)
        copied = (looked.chances * there).sum(-1)
        gate = self.gate(states).squeeze(-1).float().sigmoid()
        return -(((own.exp() * gate + copied * (1 - gate)) + TINY).log() * target.weight).sum()

    def log_probabilities(self, states: Tensor, table: Tensor | None, looked: Looked) -> Tensor:
        """states (…, width) -> log-probabilities (…, vocabulary)."""
        gate = self.gate(states).float().sigmoid()
        found = super().log_probabilities(states, table).exp() * gate
        ids = looked.ids[:, None].expand_as(looked.weights)
        return (found.scatter_add(-1, ids, looked.chances * (1 - gate)) + TINY).log()
