"""Pointer-generator head (See et al. 2017): a mixture of the vocabulary distribution and copying source tokens."""

from __future__ import annotations

from torch import Tensor, nn

from firth.config import schema
from firth.errors import FirthError
from firth.models.heads.lm_head import EPSILON, CopyDistribution, LMHead
from firth.types import Target


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
        self, states: Tensor, target: Target, embedding_weight: Tensor | None, *copying: CopyDistribution
    ) -> Tensor:
        """The weighted sum of negative log-likelihoods; hidden states (batch, time, width), targets (batch, time)."""
        (source,) = copying
        generated = super().log_probabilities(states, embedding_weight).gather(-1, target.values[..., None]).squeeze(-1)
        matches = source.ids[:, None] == target.values[..., None]  # (batch, time, source)
        copied = (source.probabilities * matches).sum(-1)
        gate: Tensor = self.gate(states).squeeze(-1).float().sigmoid()
        return -(((generated.exp() * gate + copied * (1 - gate)) + EPSILON).log() * target.weight).sum()

    def log_probabilities(self, states: Tensor, embedding_weight: Tensor | None, *copying: CopyDistribution) -> Tensor:
        """Hidden states (…, width) -> log-probabilities (…, vocabulary)."""
        (source,) = copying
        gate: Tensor = self.gate(states).float().sigmoid()
        generated = super().log_probabilities(states, embedding_weight).exp() * gate
        ids = source.ids[:, None].expand_as(source.weights)
        return (generated.scatter_add(-1, ids, source.probabilities * (1 - gate)) + EPSILON).log()
