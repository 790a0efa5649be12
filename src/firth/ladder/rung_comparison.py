"""Rungs compared by any metric: confidence intervals, significance, and the choice of the recommended rung."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from firth.metrics.bootstrap import approximate_randomisation, bootstrap_systems, confidence_interval
from firth.metrics.ladder_metric import LadderMetric
from firth.runs.base_ladder import ConfidenceInterval

# of the best score: a simpler rung may be worse by so much, if the difference is not significant
MAX_TIE_DIFFERENCE = 0.02


class Ranked(Protocol):
    """A row of a table: its score on validation data, and how much worse it is than the best one."""

    @property
    def valid(self) -> ConfidenceInterval: ...
    @property
    def valid_behind(self) -> ConfidenceInterval: ...


AnyRow = TypeVar("AnyRow", bound=Ranked)


def intervals(
    metric: LadderMetric, counts: Sequence[np.ndarray], seed: int
) -> tuple[list[ConfidenceInterval], list[ConfidenceInterval]]:
    """Confidence intervals of each system's score and of how much worse it is than the best (paired bootstrap over
    items), from the counts of each item (items, statistics)."""
    samples = bootstrap_systems([metric.statistics(each) for each in counts], seed)  # (resamples, systems)
    values = [metric.value(each) for each in counts]
    best = find_best(metric, values)
    behind = metric.sign * (samples - samples[:, [best]])
    return _around(values, samples), _around([metric.behind(value, values[best]) for value in values], behind)


def _around(values: Sequence[float], samples: np.ndarray) -> list[ConfidenceInterval]:
    return [ConfidenceInterval(value, *confidence_interval(samples[:, n])) for n, value in enumerate(values)]


def find_best(metric: LadderMetric, values: Sequence[float]) -> int:
    """The position of the best value, the first of equal ones."""
    return int(np.argmin(metric.sign * np.array(values)))


def p_value(metric: LadderMetric, one: np.ndarray, other: np.ndarray, seed: int) -> float:
    """The two-sided p value of the difference of two systems, by approximate randomisation."""
    return approximate_randomisation(metric.statistics(one), metric.statistics(other), seed).p_value


def is_tied(metric: LadderMetric, row: Ranked) -> bool:
    """Whether a rung is not significantly, and only slightly, worse than the best on the validation data."""
    best = row.valid.value - metric.sign * row.valid_behind.value
    return row.valid_behind.low <= 0 and row.valid_behind.value <= MAX_TIE_DIFFERENCE * abs(best)


def recommend(metric: LadderMetric, rows: Sequence[AnyRow]) -> AnyRow:
    """The simplest rung (the first) that is tied with the best on the validation data."""
    return next(row for row in rows if is_tied(metric, row))
