"""The report of a labelled task's ladder: recommendation, table, quality against cost; no script."""

from __future__ import annotations

from html import escape
from pathlib import PurePath

from firth.metrics.ladder_metric import LadderMetric
from firth.report.cost_quality import Dot, draw_cost_quality
from firth.report.drawing import Drawing, group_style, to_svg
from firth.report.ladder_page import STYLE, advice_box
from firth.report.page import facts, figure, html_page, table
from firth.runs.base_ladder import ConfidenceInterval
from firth.runs.task_ladder import TaskLadder, TaskRow


def task_ladder_page(ladder: TaskLadder) -> str:
    """Render the whole report."""
    names = ", ".join(PurePath(text).name or text for text in ladder.about["text"])
    title = f"{ladder.about['task']} of {names}"
    best = "highest" if ladder.measure.better == "higher" else "lowest"
    side = "upper" if best == "highest" else "lower"
    caption = f"The {best} score is the best, and the {side} left the best place. Error bars are 95% confidence "
    body = [
        f"<h1>Which model for {escape(title)}?</h1>",
        advice_box(ladder.advice),
        _table(ladder),
        "<h2>Quality against cost</h2>",
        figure(to_svg(task_cost_quality(ladder)), f"{caption}intervals. Rungs that train for the budget are coloured."),
        *_setup(ladder),
    ]
    return html_page(f"ladder: {title}", body, STYLE)


def _table(ladder: TaskLadder) -> str:
    names = ("rung", "parameters", "seconds", "ms per item", f"{ladder.metric} (test)", f"{ladder.metric} (validation)",
             "p, rung below", "p, best", "behind the best")  # fmt: skip
    chosen = next((n for n, row in enumerate(ladder.rows) if row.rung == ladder.advice.rung), None)
    return table(names, (_cells(row, ladder.measure) for row in ladder.rows), chosen=chosen) + (
        '<p class="soft">Seconds are of training, milliseconds of labelling one item of the test split. The p values '
        "are two-sided, by approximate randomisation on the test split.</p>"
    )


def _cells(row: TaskRow, metric: LadderMetric) -> tuple[str, ...]:
    size = row.preset.partition(":")[2]
    return (
        escape(row.rung) + (f" <small>{escape(size)}</small>" if size and ":" not in row.rung else ""),
        f"{row.parameters:,}",
        f"{row.seconds:,.1f}",
        f"{row.milliseconds:,.3g}",
        _interval(row.score, metric),
        _interval(row.valid, metric),
        _format_p(row.p_below),
        _format_p(row.p_best),
        _difference(row.behind, metric),
    )


def _interval(interval: ConfidenceInterval, metric: LadderMetric) -> str:
    half = metric.format((interval.high - interval.low) / 2, unit=False)
    return f"{metric.format(interval.value)} <small>± {half}</small>"


def _difference(interval: ConfidenceInterval, metric: LadderMetric) -> str:
    if interval.value <= 0:
        return "best"
    low, high = (metric.format(each, unit=False) for each in (interval.low, interval.high))
    return f"{metric.format(interval.value, unit=False)} <small>{low} to {high}</small>"


def _format_p(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def task_cost_quality(ladder: TaskLadder) -> Drawing:
    """Test scores with their confidence intervals against training time and parameters."""
    metric, budgeted = ladder.measure, [result.rung for result in ladder.results if result.budgeted]
    colours = {name: group_style(number)[0] for number, name in enumerate(budgeted)}
    dots = [
        Dot(
            row.rung,
            _shown(row.score, metric),
            row.seconds,
            row.parameters,
            colours.get(row.rung, "soft"),
            f"{metric.format(row.score.value)} ({metric.format(row.score.low)} to {metric.format(row.score.high)})",
        )
        for row in ladder.rows
    ]
    unit = f"{metric.name}{f', {metric.unit.strip()}' if metric.unit else ''}"
    return draw_cost_quality(dots, unit, f"{unit}, test split", ladder.advice.rung)


def _shown(interval: ConfidenceInterval, metric: LadderMetric) -> ConfidenceInterval:
    """An interval in the unit that people see."""
    return ConfidenceInterval(*(value * metric.scale for value in (interval.value, interval.low, interval.high)))


def _setup(ladder: TaskLadder) -> list[str]:
    about = facts((name, escape(value)) for name, value in ladder.describe().items())
    notes = "".join(f"<p>{escape(note)}</p>" for note in ladder.notes)
    return [f"<h2>Method</h2><p>{_METHOD}</p>{notes}{about}"]


_METHOD = (
    "All rungs have the same training, validation and test examples and the same seed. Networks share the budget by "
    "their estimated cost; the others train without one. The recommended rung is chosen on the validation split: the "
    "smallest of all rungs that are not significantly worse than the best there, and at most 2% worse. The test split "
    "is only reported. Confidence intervals are from a paired bootstrap over items (1,000 resamples)."
)
