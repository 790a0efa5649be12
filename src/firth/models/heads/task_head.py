"""The base of heads of labelled tasks: they decide what is predicted from hidden states, and what an error costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from torch import Tensor, nn

from firth.types import Encoded, Target, Term

METRIC = "metric"  # the term that evaluation reports; it has weight 0 in the loss


class TaskHead(nn.Module, ABC):
    """What the supervised objective and the pipelines know of a head: its loss, its scores and its metric."""

    metric = "accuracy"  # what the term `METRIC` is the mean of

    @abstractmethod
    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """A term for each target, by its name, and the term `METRIC`; each with its count of `target_counts`."""

    @abstractmethod
    def scores(self, encoded: Encoded) -> Mapping[str, Tensor]:
        """Probabilities, or the values of a regression, for each target."""


def target_counts(targets: Mapping[str, Target]) -> dict[str, float]:
    """The number of predictions of each term, by which it is divided; known before the forward pass."""
    counts = {name: max(1.0, float(target.weight.sum())) for name, target in targets.items()}
    return {**counts, METRIC: sum(counts.values())}


def make_terms(losses: Mapping[str, Tensor], metric: Tensor, targets: Mapping[str, Target]) -> list[Term]:
    """The terms of sums of losses by target, and of the sum of the metric over all of them."""
    counts = target_counts(targets)
    terms = [Term(name, loss, counts[name]) for name, loss in losses.items()]
    return [*terms, Term(METRIC, metric, counts[METRIC], weight=0.0)]
