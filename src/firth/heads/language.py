"""A distribution over the vocabulary at every position."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.nn.feedforward import ACTIVATIONS
from firth.nn.letters import LetterWriter
from firth.nn.linear import Kept, linear
from firth.nn.loss import linear_cross_entropy, linear_surprise
from firth.nn.norm import LayerNorm
from firth.nn.sampled import chances, sampled_cross_entropy
from firth.types import Target

SPREAD = 0.1  # an own matrix starts uniform in ±SPREAD


class Transform(nn.Module):
    """A layer, bent and normed (Devlin et al. 2019)."""

    def __init__(self, width: int, out: int, config: schema.LanguageHead):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, out), LayerNorm(out, epsilon=config.epsilon)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """x (…, width) -> (…, out)."""
        return self.norm(self.activation(self.dense(x)))


class LanguageHead(nn.Module):
    """Scores tokens with its own matrix or, if tied, with the input's table, which each call is given."""

    def __init__(self, config: schema.LanguageHead, vocabulary: int, width: int, table_width: int):
        super().__init__()
        out = table_width if config.tied else width
        self.weight = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        if self.weight is not None:
            nn.init.uniform_(self.weight, -SPREAD, SPREAD)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if config.bias else None
        self.scale = 1 / math.sqrt(width) if config.scaled else 1.0
        few = 0 < config.sampled < vocabulary
        self.register_buffer("chances", chances(vocabulary, config.sampled) if few else None, persistent=False)
        self.kept = Kept()
        self.letters = LetterWriter(config.letters, width) if config.letters else None
        self.project: nn.Module = nn.Identity()
        if config.transform:
            self.project = Transform(width, out, config)
        elif out != width:
            self.project = nn.Linear(width, out, bias=False)

    def loss(self, states: Tensor, target: Target, table: Tensor | None) -> Tensor:
        """The sum of weight × -log p(value); states (batch, time, width), targets (batch, time)."""
        states, values, weights = states.flatten(0, -2), target.values.flatten(), target.weight.flatten()
        told = weights.nonzero().squeeze(-1)
        if len(told) < len(weights):  # what is not predicted costs nothing
            states, values, weights = (part.index_select(0, told) for part in (states, values, weights))
        asked = self.before(states), self.matrix(table), self.bias, values, weights
        if self.chances is not None and self.training:
            return sampled_cross_entropy(*asked, self.chances)
        return linear_cross_entropy(*asked)

    def above_mean(self, states: Tensor, target: Target, table: Tensor | None) -> Tensor:
        """The sum of weight × (the value's score - mean of all scores): what label smoothing adds, over its share."""
        matrix, values, states = self.matrix(table), target.values.flatten(), self.before(states).flatten(0, -2)
        scores = ((F.embedding(values, matrix) - matrix.mean(0)) * states).sum(-1)
        if self.bias is not None:
            scores = scores + self.bias[values] - self.bias.mean()
        return (scores * target.weight.flatten()).sum()

    def surprises(self, states: Tensor, values: Tensor, table: Tensor | None) -> Tensor:
        """-log p(value) at every position (batch, time), without gradients."""
        found = linear_surprise(self.before(states).flatten(0, -2), self.matrix(table), self.bias, values.flatten())
        return found.view(values.shape)

    def log_probabilities(self, states: Tensor, table: Tensor | None) -> Tensor:
        """states (…, width) -> log-probabilities (…, vocabulary), in at least float32."""
        logits = linear(self.before(states), self.matrix(table).to(states.dtype), self.bias, self.kept)
        return F.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)

    def before(self, states: Tensor) -> Tensor:
        """What the matrix is multiplied with."""
        found = self.project(states)
        return found if self.scale == 1.0 else found * self.scale

    def matrix(self, table: Tensor | None) -> Tensor:
        """The output matrix (vocabulary, width): its own, or the table it is tied to."""
        matrix = table if self.weight is None else self.weight
        if matrix is None:
            raise TypeError("a tied language head needs the input's table")
        return matrix
