"""Classification and regression head over one vector of a whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.heads.problem_types import PROBLEM_TYPES
from firth.models.heads.task_head import TaskHead, make_terms
from firth.nn.feedforward import ACTIVATIONS
from firth.nn.pooling import POOLINGS
from firth.types import LABEL, Encoded, Target, Term

INIT_STD = 0.02  # standard deviation of the initial weights


def difference(vectors: Tensor) -> Tensor:
    """u, v (batch, 2, width) -> u, v and |u - v| side by side (batch, 3 × width)."""
    u, v = vectors.unbind(1)
    return torch.cat([u, v, (u - v).abs()], -1)


def total(vectors: Tensor) -> Tensor:
    """The sum of the vectors (batch, sequences, width) -> (batch, width)."""
    return vectors.sum(1)


Combination = tuple[Callable[[Tensor], Tensor] | None, int]  # and how much wider its vectors are
COMBINATIONS: dict[str, Combination] = {"none": (None, 1), "difference": (difference, 3), "sum": (total, 1)}


class ClassificationHead(TaskHead):
    """An output for each label, from the pooled state through a pooler layer (Devlin et al. 2019) or directly
    (GPT-1)."""

    def __init__(self, config: schema.ClassificationHead, labels: Mapping[str, int], width: int, embedding_width: int):
        super().__init__()
        self.pooling, self.dropout, self.activation = (
            POOLINGS[config.pooling](width),
            config.dropout,
            ACTIVATIONS[config.activation],
        )
        self.combine, wider = COMBINATIONS[config.combine]
        pooled = self.pooling.width * wider
        self.max_norm = config.max_norm
        self.problem = PROBLEM_TYPES[config.problem_type](config)
        self.metric = self.problem.metric
        self.pooler = nn.Linear(pooled, pooled) if config.pooler else None
        self.classifier = nn.Linear(pooled, labels[LABEL], bias=config.bias)
        for layer in (self.pooler, self.classifier):
            if layer is not None:
                nn.init.normal_(layer.weight, std=INIT_STD)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch, time, width) -> logits (batch, labels)."""
        pooled = self.pooling(encoded.states, encoded.mask, encoded.directions)
        if self.combine is not None and encoded.sequences is not None:
            there = encoded.sequences[..., None].to(pooled.dtype)
            pooled = self.combine(pooled.view(*encoded.sequences.shape, -1) * there)
        pooled = pooled if self.pooler is None else self.activation(self.pooler(pooled))
        pooled = F.dropout(pooled, self.dropout, self.training)
        if self.max_norm:
            weight = torch.renorm(self.classifier.weight, 2, 0, self.max_norm)
            return F.linear(pooled, weight, self.classifier.bias).float()
        logits: Tensor = self.classifier(pooled)
        return logits.float()

    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """The loss of the labels, and the metric of the problem type."""
        logits, target = self(encoded), targets[LABEL]
        loss = (self.problem.losses(logits, target.values) * target.weight).sum()
        metric = (self.problem.metrics(logits.detach(), target.values) * target.weight).sum()
        return make_terms({LABEL: loss}, metric, {LABEL: target})

    def scores(self, encoded: Encoded) -> dict[str, Tensor]:
        """Probabilities of the labels, or values (batch, labels)."""
        return {LABEL: self.problem.scores(self(encoded))}
