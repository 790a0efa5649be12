"""Heads over one vector of a whole sequence: classification, and the vector itself as a sentence embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.heads.problem_types import problem_type
from firth.models.heads.task_head import TaskHead, make_terms
from firth.nn.pooling import POOLINGS
from firth.types import Encoded, Target, Term

LABEL = "label"  # the target
INIT_STD = 0.02  # standard deviation of the initial weights
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "gelu": F.gelu, "relu": F.relu}


class ClassificationHead(TaskHead):
    """An output for each label, from the pooled state through a pooler layer (Devlin et al. 2019) or directly
    (GPT-1)."""

    def __init__(self, config: schema.ClassificationHead, labels: int, width: int, embedding_width: int):
        super().__init__()
        self.pooling, self.dropout, self.activation = (
            POOLINGS[config.pooling](width),
            config.dropout,
            ACTIVATIONS[config.activation],
        )
        pooled = self.pooling.width
        self.problem = problem_type(config.problem_type, config.output_activation)
        self.metric = self.problem.metric
        self.pooler = nn.Linear(pooled, pooled) if config.pooler else None
        self.classifier = nn.Linear(pooled, labels, bias=config.bias)
        for layer in (self.pooler, self.classifier):
            if layer is not None:
                nn.init.normal_(layer.weight, std=INIT_STD)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch, time, width) -> logits (batch, labels)."""
        pooled = self.pooling(encoded.states, encoded.mask, encoded.directions)
        pooled = pooled if self.pooler is None else self.activation(self.pooler(pooled))
        logits: Tensor = self.classifier(F.dropout(pooled, self.dropout, self.training))
        return logits.float()

    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """The loss of the labels, and the metric of the problem type."""
        logits, target = self(encoded), targets[LABEL]
        loss = (self.problem.losses(logits, target.values) * target.weight).sum()
        metric = (self.problem.metrics(logits.detach(), target.values) * target.weight).sum()
        return make_terms({LABEL: loss}, metric, {LABEL: target})

    def scores(self, encoded: Encoded) -> Tensor:
        """Probabilities of the labels, or values (batch, labels)."""
        return self.problem.scores(self(encoded))


class PoolingHead(nn.Module):
    """The pooled state itself, as a sentence embedding."""

    def __init__(self, config: schema.PoolingHead, labels: int, width: int, embedding_width: int):
        super().__init__()
        self.pooling = POOLINGS[config.pooling](width)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch, time, width) -> vectors (batch, width)."""
        vectors: Tensor = self.pooling(encoded.states, encoded.mask, encoded.directions)
        return vectors.float()
