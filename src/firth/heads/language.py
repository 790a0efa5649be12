"""A distribution over the vocabulary at every position."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.nn.linear import Turned, linear
from firth.nn.loss import linear_cross_entropy, linear_surprise
from firth.types import Target

SPREAD = 0.1  # an own matrix starts uniform in ±SPREAD


class LanguageHead(nn.Module):
    """Scores tokens with its own matrix or, if tied, with the input's table, which each call is given."""

    def __init__(self, config: schema.LanguageHead, vocabulary: int, width: int, table_width: int):
        super().__init__()
        self.weight = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        if self.weight is not None:
            nn.init.uniform_(self.weight, -SPREAD, SPREAD)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if config.bias else None
        self.turned = Turned()
        narrow = config.tied and table_width != width
        self.project = nn.Linear(width, table_width, bias=False) if narrow else nn.Identity()

    def loss(self, states: Tensor, target: Target, table: Tensor | None) -> Tensor:
        """The sum of weight × -log p(value); states (batch, time, width), targets (batch, time)."""
        states = self.project(states).flatten(0, -2)
        values, weights = target.values.flatten(), target.weight.flatten()
        return linear_cross_entropy(states, self.matrix(table), self.bias, values, weights)

    def surprises(self, states: Tensor, values: Tensor, table: Tensor | None) -> Tensor:
        """-log p(value) at every position (batch, time), without gradients."""
        found = linear_surprise(self.project(states).flatten(0, -2), self.matrix(table), self.bias, values.flatten())
        return found.view(values.shape)

    def log_probabilities(self, states: Tensor, table: Tensor | None) -> Tensor:
        """states (…, width) -> log-probabilities (…, vocabulary), in at least float32."""
        logits = linear(self.project(states), self.matrix(table).to(states.dtype), self.bias, self.turned)
        return F.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)

    def matrix(self, table: Tensor | None) -> Tensor:
        """The output matrix (vocabulary, width): its own, or the table it is tied to."""
        matrix = table if self.weight is None else self.weight
        if matrix is None:
            raise TypeError("a tied language head needs the input's table")
        return matrix
