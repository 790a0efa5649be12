"""Evaluation of a network in training: its loss on validation text, and the time that its final scores will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from firth.datasets.collators.collator import Batches
from firth.errors import FirthError
from firth.models.build import System
from firth.runs.trained_model import TrainedModel
from firth.training.loop import Evaluation
from firth.types import Term

_SAMPLE_TOKENS = 300  # scored before training, to know how long the final scores will take …
_MEASURED = 0.01  # … and at each evaluation again, in this part of the budget
_MAX_SCORING = 0.2  # of a time budget: if the final scores would take longer, they are those of a sample
_REPORT_SECONDS, _MAX_REPORT = 1.5, 0.1  # of samples and report


class Validation:
    """Evaluates on the validation split during training, with the training batch size (faster than one sequence)."""

    def __init__(
        self, system: System, batches: Batches, limit: int, best_by: str, model: Any, final: FinalScores | None
    ) -> None:
        self.system, self.batches, self.limit, self.model, self.final = system, batches, limit, model, final
        self.select_by_metric = best_by == "metric"
        if self.select_by_metric and not hasattr(self.model, "quality"):
            do = "set train.best_by=loss"
            raise FirthError("this model has no metric of generated texts", where="train.best_by", do=do)

    def __call__(self) -> Evaluation:
        if self.final is not None:
            self.final.update()
        terms = sum_terms(self.system, self.batches, self.limit)
        loss = sum(term.weight * term.sum / term.count for term in terms.values())
        metric = terms[self.system.objective.metric]
        value = self.model.metric_value(metric.sum, metric.count)
        if self.select_by_metric:
            quality = self.model.quality()
            return Evaluation(loss, quality.name, quality.value, self.model.sample(), selection_score=-quality.value)
        selection_score = metric.sum / metric.count if self.system.objective.nonstationary else None
        return Evaluation(loss, self.model.metric, value, self.model.sample(), selection_score)


@torch.no_grad()
def sum_terms(system: System, batches: Batches, limit: int = 0) -> dict[str, Term]:
    """The terms of the loss summed over a split, the state carried from batch to batch."""
    totals: dict[str, Term] = {}
    state = None
    for index, batch in enumerate(batches.evaluation_batches()):
        if limit and index == limit:
            break
        terms, state = system(batch.to("cpu"), None if batch.reset_state else state)
        for term in terms:
            before = totals.get(term.name, Term(term.name, 0.0, 0.0))
            totals[term.name] = replace(term, sum=before.sum + float(term.sum), count=before.count + term.count)
    return totals


def seconds_per_batch(system: System, batches: Batches) -> float:
    """The time of an evaluation batch; the first one warms up."""
    system.eval()
    seconds = _timed(lambda: sum_terms(system, batches, 3)) if _timed(lambda: sum_terms(system, batches, 1)) else 0.0
    system.train()
    return seconds / 3


class FinalScores:
    """How long scoring the test split will take after training, and of how much of it there is time for."""

    def __init__(self, model: TrainedModel, budget: float, tokens: int) -> None:
        """The budget in seconds, and the tokens of the test split."""
        self._model, self._budget = model, budget
        self._seconds = float(tokens > 0)
        self._measure(max(1, tokens // _SAMPLE_TOKENS))

    def update(self) -> None:
        """Measure again, on a sample that takes a hundredth of the budget."""
        self._measure(max(1, math.ceil(self._seconds / (_MEASURED * self._budget))))

    def _measure(self, sample_every: int) -> None:
        if self._seconds:
            self._model.sample_every = sample_every
            self._seconds = sample_every * _timed(lambda: self._model.evaluate(split="test"))
            self._model.sample_every = 1

    def reserve(self) -> float:
        """The seconds that are kept for scores and report."""
        return min(self._seconds, _MAX_SCORING * self._budget) + min(_REPORT_SECONDS, _MAX_REPORT * self._budget)

    @property
    def sample_every(self) -> int:
        """Of so many documents one is scored, so that it takes no longer; 1: all."""
        return max(1, math.ceil(self._seconds / (_MAX_SCORING * self._budget)))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
