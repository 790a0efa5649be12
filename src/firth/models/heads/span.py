"""Span head of extractive question answering: where the answer begins and where it ends (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.heads.task_head import TaskHead, make_terms
from firth.types import Encoded, Target, Term

START, END = "start", "end"  # the targets: positions in the row; that of [CLS], 0, where there is no answer
INIT_STD = 0.02  # standard deviation of the initial weights


class SpanHead(TaskHead):
    """Two distributions over the tokens of a row; the metric is the fraction of rows with both ends right."""

    metric = "span_accuracy"

    def __init__(self, config: schema.SpanHead, outputs: int, width: int, embedding_width: int):
        super().__init__()
        self.dropout, self.classifier = config.dropout, nn.Linear(width, 2)
        nn.init.normal_(self.classifier.weight, std=INIT_STD)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch, time, width) -> logits of start and end (2, batch, time), -inf on padding."""
        logits: Tensor = self.classifier(F.dropout(encoded.states, self.dropout, self.training))
        return logits.float().permute(2, 0, 1).masked_fill(~encoded.mask, -torch.inf)

    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """The cross-entropies of start and end."""
        logits = dict(zip((START, END), self(encoded), strict=True))
        losses, right = {}, torch.ones_like(targets[START].weight)
        for name, each in logits.items():
            values, weight = targets[name].values, targets[name].weight
            losses[name] = (F.cross_entropy(each, values, reduction="none") * weight).sum()
            right = right * (each.argmax(1) == values)
        # the rows count once for each end in the metric's count
        return make_terms(losses, 2 * (right * targets[START].weight).sum(), targets)

    def scores(self, encoded: Encoded) -> dict[str, Tensor]:
        """Log-probabilities of each token as start and as end (batch, time)."""
        return dict(zip((START, END), self(encoded).log_softmax(-1), strict=True))
