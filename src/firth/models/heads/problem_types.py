"""What the outputs of a classification head mean: one label of several, any number of labels, or values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config import schema

OUTPUT_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"none": lambda values: values, "sigmoid": torch.sigmoid}


class ProblemType(ABC):
    """The loss of outputs, the metric logged in training, and the outputs in use."""

    metric = "accuracy"

    @abstractmethod
    def losses(self, logits: Tensor, values: Tensor) -> Tensor:
        """The loss of each example (batch,) of its outputs (batch, labels)."""

    @abstractmethod
    def metrics(self, logits: Tensor, values: Tensor) -> Tensor:
        """The metric of each example (batch,)."""

    @abstractmethod
    def scores(self, logits: Tensor) -> Tensor:
        """Probabilities or values (batch, labels)."""


class SingleLabel(ProblemType):
    """A softmax over the labels; values are label ids (batch,)."""

    def losses(self, logits: Tensor, values: Tensor) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(logits, values, reduction="none")

    def metrics(self, logits: Tensor, values: Tensor) -> Tensor:
        """1 where the most probable label is right."""
        return (logits.argmax(1) == values).float()

    def scores(self, logits: Tensor) -> Tensor:
        """Probabilities that sum to 1."""
        return logits.softmax(-1)


class MultiLabel(ProblemType):
    """A sigmoid for each label; values are 1 for the labels of an example (batch, labels)."""

    metric = "subset_accuracy"

    def losses(self, logits: Tensor, values: Tensor) -> Tensor:
        """Binary cross-entropy, the sum over labels."""
        return F.binary_cross_entropy_with_logits(logits, values, reduction="none").sum(1)

    def metrics(self, logits: Tensor, values: Tensor) -> Tensor:
        """1 where all labels are right."""
        return ((logits > 0) == (values > 0.5)).all(1).float()

    def scores(self, logits: Tensor) -> Tensor:
        """A probability for each label."""
        return logits.sigmoid()


class Regression(ProblemType):
    """The outputs are the values, after an activation in use and in training alike."""

    metric = "mean_squared_error"

    def __init__(self, activation: str):
        self.activation = OUTPUT_ACTIVATIONS[activation]

    def losses(self, logits: Tensor, values: Tensor) -> Tensor:
        """The squared error, the sum over outputs."""
        values = values[:, None] if values.dim() == 1 else values
        return (self.scores(logits) - values.to(logits.dtype)).square().sum(1)

    metrics = losses

    def scores(self, logits: Tensor) -> Tensor:
        """The values."""
        return self.activation(logits)


PROBLEM_TYPES: dict[str, Callable[[schema.ClassificationHead], ProblemType]] = {
    "single-label": lambda config: SingleLabel(),
    "multi-label": lambda config: MultiLabel(),
    "regression": lambda config: Regression(config.output_activation),
}
