"""Evaluation of a network in training on its validation split."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from firth.datasets.collators.collator import Batches
from firth.models.build import System
from firth.training.clock import FinalScores
from firth.training.loop import Evaluation
from firth.types import Term


@dataclass
class Validation:
    """Evaluates on the validation split during training, with the training batch size (faster than one sequence)."""

    system: System
    batches: Batches
    select_by_metric: bool  # of generated texts, not by the loss
    make_model: Callable[[], Any]  # the pipeline of the network
    limit: int = 0  # batches of an evaluation; 0: all
    seconds: float = 0.0  # of the first evaluation, whose batches are then those of each; 0: no limit
    final: FinalScores | None = None

    @cached_property
    def model(self) -> Any:
        """The pipeline of the network in training."""
        return self.make_model()

    def __call__(self) -> Evaluation:
        if self.final is not None:
            self.final.update(self.model)
        terms, count = self._sum_terms()
        loss = sum(term.weight * term.sum / term.count for term in terms.values())
        metric = terms[self.system.objective.metric]
        value = self.model.metric_value(metric.sum, metric.count)
        objective = self.system.objective
        evaluation = Evaluation(loss, self.model.metric, value, self.model.sample(), batches=count)
        if self.select_by_metric:
            quality = self.model.quality()
            return replace(evaluation, metric=quality.name, value=quality.value, selection_score=-quality.value)
        return replace(evaluation, selection_score=metric.sum / metric.count) if objective.nonstationary else evaluation

    @torch.no_grad()
    def _sum_terms(self) -> tuple[dict[str, Term], int]:
        """The terms of the loss summed over the batches, the state carried from each to the next; and their number."""
        totals: dict[str, Term] = {}
        state, count, began = None, 0, time.perf_counter()
        for count, batch in enumerate(self.batches.evaluation_batches(), 1):
            terms, state = self.system(batch.to("cpu"), None if batch.reset_state else state)
            for term in terms:
                before = totals.get(term.name, Term(term.name, 0.0, 0.0))
                totals[term.name] = replace(term, sum=before.sum + float(term.sum), count=before.count + term.count)
            if count == self.limit or (not self.limit and 0 < self.seconds < time.perf_counter() - began):
                break
        if self.seconds:
            self.limit = count
        return totals, count
