"""The recommendation among the rungs of a labelled task in plain words: which one, and how sure its lead is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from firth.ladder.rung_comparison import find_best, is_tied, recommend
from firth.ladder.task_configs import find_rung
from firth.ladder.task_settings import TaskSettings
from firth.metrics.ladder_metric import LadderMetric
from firth.runs.base_ladder import Advice
from firth.runs.task_ladder import TaskRow

LEVEL = 0.05  # of significance


def advise(rows: Sequence[TaskRow], settings: TaskSettings, command: Callable[[str], str]) -> Advice:
    """Recommend the smallest rung that is not significantly worse than the best on the validation split."""
    metric = settings.scoring.metric
    choice = recommend(metric, rows)
    parts = (
        _describe_choice(choice, settings),
        _describe_ties(rows, choice, metric),
        _describe_below(rows, choice, metric),
        _describe_test(rows, choice, metric),
    )
    return Advice(choice.rung, tuple(text for part in parts for text in part), command(choice.rung), choice.rung)


def _describe_choice(row: TaskRow, settings: TaskSettings) -> Iterator[str]:
    metric, score = settings.scoring.metric, row.score
    low, high = metric.format(score.low, unit=False), metric.format(score.high)
    yield (
        f"Use {row.rung}, {find_rung(settings, row.rung).description}: {metric.name} {metric.format(score.value)} on "
        f"the test {settings.definition.item}s (95% confidence interval {low} to {high})."
    )


def _describe_ties(rows: Sequence[TaskRow], choice: TaskRow, metric: LadderMetric) -> Iterator[str]:
    """Why this rung: it is the smallest that is not significantly worse than the best on the validation split."""
    best = rows[find_best(metric, [row.valid.value for row in rows])]
    if best is not choice:
        yield (
            f"It is the smallest rung that is not significantly worse than the best on the validation split: "
            f"{best.rung} was better by {_points(metric, choice.valid_behind.value)}{_p(choice.valid_p_best)}."
        )
        return
    tied = [row.rung for row in rows if is_tied(metric, row) and row is not choice]
    smaller = ", and every smaller rung is significantly worse there, or by more than 2%"
    yield f"It is the best on the validation split{smaller * (rows[0] is not choice)}."
    if tied:
        verb = "are" if len(tied) > 1 else "is"
        yield f"Of the larger ones {_join(tied)} {verb} not significantly worse there."


def _describe_below(rows: Sequence[TaskRow], choice: TaskRow, metric: LadderMetric) -> Iterator[str]:
    """The test score beside that of the next smaller rung."""
    position = rows.index(choice)
    if position:
        below = rows[position - 1]
        gain = -metric.behind(choice.score.value, below.score.value)
        direction = "better" if gain >= 0 else "worse"
        yield (
            f"On the test split it is {direction} than {below.rung}, the rung below it, by "
            f"{_points(metric, abs(gain))}{_p(choice.p_below)}."
        )


def _describe_test(rows: Sequence[TaskRow], choice: TaskRow, metric: LadderMetric) -> Iterator[str]:
    """The test split is only reported; a significant disagreement with the choice is noted."""
    if choice.p_best is not None and choice.p_best < LEVEL:
        best = rows[find_best(metric, [row.score.value for row in rows])]
        yield f"On the test split {best.rung} is significantly better{_p(choice.p_best)}: look at both."


def _points(metric: LadderMetric, difference: float) -> str:
    """A difference of two values: of percentages in points."""
    number = metric.format(difference, unit=False)
    return f"{number} points" if metric.unit == " %" else f"{number}{metric.unit}"


def _p(value: float | None) -> str:
    return "" if value is None else f" (p = {value:.3f})"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
