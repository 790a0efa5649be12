"""Pointer-generator head (See et al. 2017): a mixture of the vocabulary distribution and copying source tokens."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from firth.config import schema
from firth.errors import FirthError
from firth.models.heads.lm_head import LMHead
from firth.types import Target

EPSILON = 1e-20  # added to probabilities before the logarithm


class CopyDistribution(NamedTuple):
    """Attention weights over the source tokens, which are the probabilities of copying each."""

    weights: Tensor  # (batch, time, source); those of local-p attention sum to less than 1
    ids: Tensor  # (batch, source)

    @property
    def probabilities(self) -> Tensor:
        """The probability of copying each source token (batch, time, source)."""
        return self.weights / self.weights.sum(-1, keepdim=True).clamp(min=EPSILON)


class PointerGeneratorHead(LMHead):
    """A learned gate (p_gen) mixes the vocabulary distribution with copying source tokens by attention weights."""

    def __init__(self, config: schema.PointerGeneratorHead, vocabulary: int, width: int, embedding_width: int):
        super().__init__(config, vocabulary, width, embedding_width)
        if config.sampled_softmax:
            do = "set it to 0"
            what = "a pointer-generator head needs the full softmax"
            raise FirthError(what, where="head.sampled_softmax", do=do)
        self.gate = nn.Linear(width, 1)

    def loss(
        self, states: Tensor, target: Target, embedding_weight: Tensor | None, copying: CopyDistribution
    ) -> Tensor:
        """The weighted sum of negative log-likelihoods; hidden states (batch, time, width), targets (batch, time)."""
        generated = super().log_probabilities(states, embedding_weight).gather(-1, target.values[..., None]).squeeze(-1)
        matches = copying.ids[:, None] == target.values[..., None]  # (batch, time, source)
        copied = (copying.probabilities * matches).sum(-1)
        gate = self.gate(states).squeeze(-1).float().sigmoid()
        return -(((generated.exp() * gate + copied * (1 - gate)) + EPSILON).log() * target.weight).sum()

    def log_probabilities(self, states: Tensor, embedding_weight: Tensor | None, copying: CopyDistribution) -> Tensor:
        """Hidden states (…, width) -> log-probabilities (…, vocabulary)."""
        gate = self.gate(states).float().sigmoid()
        generated = super().log_probabilities(states, embedding_weight).exp() * gate
        ids = copying.ids[:, None].expand_as(copying.weights)
        return (generated.scatter_add(-1, ids, copying.probabilities * (1 - gate)) + EPSILON).log()
