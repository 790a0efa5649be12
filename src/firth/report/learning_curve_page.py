"""The page of a learning curve: the scores by number of examples, the power law and what it says of more, the table."""

from __future__ import annotations

from html import escape

import numpy as np

from firth.report.charts import Series, line_chart
from firth.report.page import html_page, table
from firth.runs.curve_folder import CurvePoint, LearningCurve

_CAPTION = (
    "Points are means over subsets of the training examples, bars 95% intervals over test items and subsets. The line "
    "is a power law of the error, a + b·n⁻ᶜ; beyond the examples there are it is extrapolated."
)
_STEPS = 60  # points of the drawn law


def learning_curve_page(curve: LearningCurve) -> str:
    """Render the page."""
    names = ("examples", "runs", curve.metric.name, "95% interval", "power law", "gain", "seconds")
    law = curve.law
    formula = f"error = {law.asymptote:.4g} + {law.factor:.4g} · n^−{law.exponent:.3g}"
    body = [
        f"<h1>What would more labels bring to {escape(curve.preset)}?</h1>",
        f"<p>{escape(curve.sentence[0].upper() + curve.sentence[1:])}.</p>",
        learning_curve_chart(curve),
        table(names, (_cells(point, curve) for point in curve.points)),
        f'<p class="soft">Scored on {curve.items:,} {curve.item}s of the test split. The last two rows are '
        f"extrapolated by the power law of the error: {escape(formula)}. It holds for examples like these, and the "
        "farther it reaches the less certain it is.</p>",
    ]
    return html_page(f"learning curve: {curve.preset}", body)


def learning_curve_chart(curve: LearningCurve) -> str:
    """Scores by number of training examples on a logarithmic scale, with the power law."""
    scale, trained, more = curve.metric.scale, curve.trained, [point for point in curve.points if not point.runs]
    first, last = trained[0].examples, more[-1].examples
    x = np.geomspace(first, last, _STEPS)
    fitted = scale * (1 - curve.law(x))
    lines = [_points("trained", trained, scale)]
    lines.append(Series("power law", x.tolist(), fitted.tolist()))
    lines.append(_points("extrapolated", more, scale))
    label = f"{curve.metric.name} ({curve.metric.unit.strip()})" if curve.metric.unit else curve.metric.name
    return line_chart("Learning curve", "training examples", label, lines, log_x=True, caption=_CAPTION)


def _points(name: str, points: list[CurvePoint], scale: float) -> Series:
    values = {field: [scale * getattr(point, field) for point in points] for field in ("score", "low", "high")}
    x = [point.examples for point in points]
    return Series(name, x, values["score"], markers=True, low=values["low"], high=values["high"], line=False)


def _cells(point: CurvePoint, curve: LearningCurve) -> tuple[str, ...]:
    score, low, high, fitted = map(curve.metric.format, (point.score, point.low, point.high, point.fitted))
    runs = str(point.runs) if point.runs else "<small>extrapolated</small>"
    gain = "" if point.gain is None else curve.metric.format(point.gain, signed=True, unit=False)
    seconds = f"{point.seconds:,.1f}" if point.runs else ""
    return f"{point.examples:,}", runs, score, f"{low} to {high}", fitted, gain, seconds
