"""Multiple-choice head: a score for each choice, and a softmax over those of a question."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.heads.task_head import TaskHead, make_terms
from firth.nn.pooling import POOLINGS
from firth.types import Encoded, Target, Term

CHOICE = "choice"  # the target: the position of the correct choice
INIT_STD = 0.02  # standard deviation of the initial weights


class ChoiceHead(TaskHead):
    """One output over the pooled state of each sequence of an example."""

    def __init__(self, config: schema.ChoiceHead, outputs: int, width: int, embedding_width: int):
        super().__init__()
        self.dropout, self.pooling = config.dropout, POOLINGS[config.pooling](width)
        pooled = self.pooling.width
        self.pooler = nn.Linear(pooled, pooled) if config.pooler else None
        self.classifier = nn.Linear(pooled, 1)
        for layer in (self.pooler, self.classifier):
            if layer is not None:
                nn.init.normal_(layer.weight, std=INIT_STD)
                nn.init.zeros_(layer.bias)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch × choices, time, width) -> logits (batch, choices), -inf where there is no choice."""
        assert encoded.sequences is not None
        pooled = self.pooling(encoded.states, encoded.mask, encoded.directions)
        pooled = pooled if self.pooler is None else torch.tanh(self.pooler(pooled))
        scores: Tensor = self.classifier(F.dropout(pooled, self.dropout, self.training)).float()
        return scores.view(encoded.sequences.shape).masked_fill(~encoded.sequences, -torch.inf)

    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """The cross-entropy of the correct choice."""
        logits, target = self(encoded), targets[CHOICE]
        loss = (F.cross_entropy(logits, target.values, reduction="none") * target.weight).sum()
        right = ((logits.argmax(1) == target.values) * target.weight).sum()
        return make_terms({CHOICE: loss}, right, {CHOICE: target})

    def scores(self, encoded: Encoded) -> dict[str, Tensor]:
        """The probability of each choice (batch, choices)."""
        return {CHOICE: self(encoded).softmax(-1)}
