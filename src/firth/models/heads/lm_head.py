"""Language modelling head: a distribution over the vocabulary at every position."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.nn.characters import CharacterDecoder
from firth.nn.feedforward import ACTIVATIONS
from firth.nn.fused_loss import linear_cross_entropy, linear_nll
from firth.nn.linear import WeightCache, linear
from firth.nn.sampled_softmax import sampled_cross_entropy, sampling_probabilities
from firth.types import Target

EPSILON = 1e-20  # added to probabilities before the logarithm
INIT_RANGE = 0.1  # an untied output weight is initialised uniformly in ±INIT_RANGE


class CopyDistribution(NamedTuple):
    """Attention weights over the source tokens, which are the probabilities of copying each; only a pointer-generator
    head is given one."""

    weights: Tensor  # (batch, time, source); those of local-p attention sum to less than 1
    ids: Tensor  # (batch, source)

    @property
    def probabilities(self) -> Tensor:
        """The probability of copying each source token (batch, time, source)."""
        return self.weights / self.weights.sum(-1, keepdim=True).clamp(min=EPSILON)


class Transform(nn.Module):
    """A dense layer with activation and layer norm before the output projection (BERT; Devlin et al. 2019)."""

    def __init__(self, width: int, out: int, config: schema.LMHead):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, out), nn.LayerNorm(out, config.norm_epsilon)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """x (…, width) -> (…, out)."""
        transformed: Tensor = self.norm(self.activation(self.dense(x)))
        return transformed


class LMHead(nn.Module):
    """Output projection and softmax, with its own weight or (weight tying) the token embeddings given to each call."""

    def __init__(self, config: schema.LMHead, vocabulary: int, width: int, embedding_width: int):
        super().__init__()
        out = embedding_width if config.tied else width
        self.weight = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        if self.weight is not None:
            nn.init.uniform_(self.weight, -INIT_RANGE, INIT_RANGE)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if config.bias else None
        self.scale = 1 / math.sqrt(width) if config.scale_states else 1.0
        sampled = 0 < config.sampled_softmax < vocabulary
        probabilities = sampling_probabilities(vocabulary, config.sampled_softmax) if sampled else None
        self.sampling_probabilities: Tensor | None
        self.register_buffer("sampling_probabilities", probabilities, persistent=False)
        self.weight_cache = WeightCache()
        self.character_decoder = CharacterDecoder(config.character_width, width) if config.character_width else None
        self.projection: nn.Module = nn.Identity()
        if config.transform:
            self.projection = Transform(width, out, config)
        elif out != width:
            self.projection = nn.Linear(width, out, bias=False)

    def loss(
        self, states: Tensor, target: Target, embedding_weight: Tensor | None, *copying: CopyDistribution
    ) -> Tensor:
        """The weighted sum of negative log-likelihoods; hidden states (batch, time, width), targets (batch, time)."""
        states, values, weights = states.flatten(0, -2), target.values.flatten(), target.weight.flatten()
        predicted = weights.nonzero().squeeze(-1)
        if len(predicted) < len(weights):  # positions that are not predicted cost nothing
            states, values, weights = (tensor.index_select(0, predicted) for tensor in (states, values, weights))
        arguments = self.project_states(states), self.output_weight(embedding_weight), self.bias, values, weights
        if self.sampling_probabilities is not None and self.training:
            return sampled_cross_entropy(*arguments, self.sampling_probabilities)
        return linear_cross_entropy(*arguments)

    def smoothing_loss(self, states: Tensor, target: Target, embedding_weight: Tensor | None) -> Tensor:
        """The sum of weight × (target logit - mean logit): what label smoothing adds, divided by its factor."""
        weight, values = self.output_weight(embedding_weight), target.values.flatten()
        states = self.project_states(states).flatten(0, -2)
        difference = ((F.embedding(values, weight) - weight.mean(0)) * states).sum(-1)
        if self.bias is not None:
            difference = difference + self.bias[values] - self.bias.mean()
        return (difference * target.weight.flatten()).sum()

    def nll(self, states: Tensor, values: Tensor, embedding_weight: Tensor | None) -> Tensor:
        """Negative log-likelihood of each target (batch, time), without gradients."""
        states, weight = self.project_states(states).flatten(0, -2), self.output_weight(embedding_weight)
        return linear_nll(states, weight, self.bias, values.flatten()).view(values.shape)

    def log_probabilities(
        self, states: Tensor, embedding_weight: Tensor | None, *copying: CopyDistribution
    ) -> Tensor:
        """Hidden states (…, width) -> log-probabilities (…, vocabulary), in at least float32."""
        weight = self.output_weight(embedding_weight).to(states.dtype)
        logits = linear(self.project_states(states), weight, self.bias, self.weight_cache)
        return F.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)

    def project_states(self, states: Tensor) -> Tensor:
        """The input of the output projection."""
        projected: Tensor = self.projection(states)
        return projected if self.scale == 1.0 else projected * self.scale

    def output_weight(self, embedding_weight: Tensor | None) -> Tensor:
        """The output weight (vocabulary, width): its own, or the tied token embeddings."""
        weight = embedding_weight if self.weight is None else self.weight
        if weight is None:
            raise TypeError("a tied LM head needs the token embeddings")
        return weight
