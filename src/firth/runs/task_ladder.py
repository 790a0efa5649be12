"""A ladder of a labelled task: the result of each rung, the comparison by the task's metric. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.display import Table
from firth.metrics.ladder_metric import METRICS, LadderMetric
from firth.runs.base_ladder import BaseLadder, ConfidenceInterval
from firth.runs.json_files import Amount, Finite, Natural
from firth.runs.ladder_folder import LadderFolder

Counts = tuple[tuple[Finite, ...], ...]  # (items, statistics)


@dataclass(frozen=True)
class TaskResult:
    """The result of one rung: the metric's counts of each held-out item."""

    rung: str
    preset: str
    parameters: Natural
    seconds: Amount  # of training
    milliseconds: Amount  # to label one item
    metric: str
    valid: Counts
    test: Counts
    budgeted: bool  # whether it trains for a budget

    @property
    def shown_score(self) -> str:
        """The validation score, for people."""
        metric = METRICS[self.metric]
        return metric.format(metric.value(np.array(self.valid)))

    @property
    def shown_work(self) -> str:
        """What it costs in use, for people."""
        return f"{self.milliseconds:.2g} ms per item"


@dataclass(frozen=True)
class TaskRow:
    """A row of the comparison table."""

    rung: str
    preset: str
    parameters: int
    seconds: float  # of training
    milliseconds: float  # to label one item
    score: ConfidenceInterval  # on the test split
    valid: ConfidenceInterval  # on the validation split
    behind: ConfidenceInterval  # worse than the best rung by so much, on the test split
    valid_behind: ConfidenceInterval  # the same on the validation split
    p_below: float | None  # of the difference from the rung below, on the test split; None: there is none
    p_best: float | None  # of the difference from the best rung, on the test split; None: it is the best
    valid_p_best: float | None  # the same on the validation split, on which the choice is made


@dataclass(frozen=True, repr=False)
class TaskLadder(BaseLadder):
    """A finished ladder of a labelled task."""

    rows: tuple[TaskRow, ...]
    results: tuple[TaskResult, ...]

    @property
    def measure(self) -> LadderMetric:
        """The metric with its direction and its format."""
        return METRICS[self.metric]

    @property
    def table(self) -> Table[dict[str, Any]]:
        """A row for each rung: size, time, score with its 95 % confidence interval, p values."""
        name = self.metric.replace(" ", "_")
        return Table(
            {
                "rung": row.rung,
                "preset": row.preset,
                "parameters": row.parameters,
                "seconds": row.seconds,
                "milliseconds": row.milliseconds,
                name: row.score.value,
                f"{name}_low": row.score.low,
                f"{name}_high": row.score.high,
                "p_below": row.p_below,
                "p_best": row.p_best,
                "recommended": row.rung == self.advice.rung,
            }
            for row in self.rows
        )

    def to_dict(self) -> dict[str, Any]:
        """The table and the recommendation as JSON values."""
        return {**super().to_dict(), "better": self.measure.better}


def read_result(folder: LadderFolder, rung: str, metric: str, items: Mapping[str, int]) -> TaskResult | None:
    """The result of a rung, if it is done, with the metric's counts of so many items of the held-out splits."""
    result: TaskResult | None = folder.read_values(rung, TaskResult)
    if result is not None:
        counts = {"valid": result.valid, "test": result.test}
        fits = all(len(counts[split]) == count for split, count in items.items())
        widths = {len(item) for each in counts.values() for item in each}
        folder.require(result.rung == rung and result.metric == metric and fits and len(widths) == 1, rung)
    return result
