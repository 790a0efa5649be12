"""A ladder of a labelled task: the result of each rung, the comparison by the task's metric. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from firth.display import Table
from firth.metrics.ladder_metric import METRICS, LadderMetric
from firth.runs.json_files import Amount, Finite, Natural
from firth.runs.ladder_folder import Advice, ConfidenceInterval, LadderFolder, describe_value, rung_folder

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
class TaskLadder:
    """A finished ladder of a labelled task, as `firth.run_ladder` returns it."""

    path: Path
    about: Mapping[str, Any]  # task, text, splits, budget, seed
    metric: str
    rows: tuple[TaskRow, ...]
    advice: Advice
    notes: tuple[str, ...]
    results: tuple[TaskResult, ...]

    @property
    def measure(self) -> LadderMetric:
        """The metric with its direction and its format."""
        return METRICS[self.metric]

    @property
    def report(self) -> Path:
        """The report page."""
        return self.path / "report.html"

    @property
    def recommended(self) -> Path:
        """The run folder of the recommended rung."""
        return rung_folder(self.path, self.advice.rung)

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

    def describe(self) -> dict[str, str]:
        """What the ladder is about, for people."""
        return {name: describe_value(value) for name, value in self.about.items()}

    def to_pandas(self) -> Any:
        """The rows of the table as a pandas DataFrame."""
        return self.table.to_pandas()

    def __repr__(self) -> str:
        return "\n".join([f"TaskLadder({str(self.path)!r})", repr(self.table), *self.advice.sentences])

    def _repr_html_(self) -> str:
        advice = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.advice.sentences)
        return f"<strong>{escape(str(self.path))}</strong>{self.table._repr_html_()}{advice}"

    def to_dict(self) -> dict[str, Any]:
        """The table and the recommendation as JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("results", "path")}
        rows, advice = [asdict(row) for row in self.rows], asdict(self.advice)
        better = {"better": self.measure.better}
        return {**values, **better, "path": str(self.path), "report": str(self.report), "rows": rows, "advice": advice}


def read_result(folder: LadderFolder, rung: str, metric: str, items: Mapping[str, int]) -> TaskResult | None:
    """The result of a rung, if it is done, with the metric's counts of so many items of the held-out splits."""
    result: TaskResult | None = folder.read_values(rung, TaskResult)
    if result is not None:
        counts = {"valid": result.valid, "test": result.test}
        fits = all(len(counts[split]) == count for split, count in items.items())
        widths = {len(item) for each in counts.values() for item in each}
        folder.require(result.rung == rung and result.metric == metric and fits and len(widths) == 1, rung)
    return result
