"""The figures of a ladder: learning curves, and quality against training time and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firth.report.axes import Axis, Panel, format_number, spread_apart
from firth.report.cost_quality import Dot, draw_cost_quality
from firth.report.curves import clipping_note, draw_curve
from firth.report.drawing import ColourName, Drawing, Line, Shape, Text, group_style
from firth.report.label_layout import Box, truncate_text
from firth.report.legend import Entry, legend
from firth.report.limits import loss_limits, widen
from firth.runs.ladder_folder import Ladder, Point, Result

_WIDTH, _PANEL_HEIGHT = 1080.0, 264.0
_SIDES = ((58.0, 466.0), (598.0, 1006.0))  # left and right of the panels
_TOP, _BOTTOM = 42.0, 50.0  # around a panel
_LABEL_SIZE = 11.0


def rung_styles(ladder: Ladder) -> dict[str, tuple[ColourName, str]]:
    """A colour and a marker for each rung with a learning curve; the others are grey."""
    neural = [result.rung for result in ladder.results if len(result.curve) > 1]
    return {result.rung: ("soft", "circle") for result in ladder.results} | {
        name: group_style(number) for number, name in enumerate(neural)
    }


def learning_curves(ladder: Ladder) -> tuple[Drawing, str] | None:
    """Learning curves: validation scores against seconds and tokens, and a note; None without a curve."""
    neural = [result for result in ladder.results if len(result.curve) > 1]
    if not neural:
        return None
    x_axes: tuple[tuple[str, Callable[[Point], float]], ...] = (
        ("seconds of training", lambda point: point.seconds),
        ("training tokens", lambda point: float(point.tokens)),
    )
    y_axis, styles = _y_axis(ladder, neural), rung_styles(ladder)
    entries = [Entry(result.rung, *styles[result.rung], line=True) for result in neural]
    shapes, last = legend(entries, _SIDES[0][0], 20.0, _WIDTH - 20.0)
    top = last + _TOP
    for (left, right), (name, value) in zip(_SIDES, x_axes, strict=True):
        x_max = max(value(point) for result in neural for point in result.curve)
        box = Box(left, top, right, top + _PANEL_HEIGHT)
        panel = Panel(box, Axis(0.0, x_max or 1.0, name), y_axis, f"{ladder.metric}, validation text")
        shapes += [*panel.draw_axes(), *_level_lines(panel, ladder)]
        for result in neural:
            points = [(value(point), point.bits) for point in result.curve]
            shapes += draw_curve(panel, points, styles[result.rung], 2.0, 2.6, _describe(result.rung, ladder.metric))
    curves = {result.rung: [(point.seconds, point.bits) for point in result.curve] for result in neural}
    levels = {result.rung: [(0.0, result.valid.bits)] for result in ladder.results if len(result.curve) <= 1}
    drawing = Drawing(_WIDTH, top + _PANEL_HEIGHT + _BOTTOM, "Learning curves", tuple(shapes))
    return drawing, clipping_note(panel, curves | levels)


def _describe(rung: str, unit: str) -> Callable[[tuple[float, float]], str]:
    return lambda point: f"{rung}: {point[1]:.3f} {unit} at {format_number(point[0])}"


def _y_axis(ladder: Ladder, neural: Sequence[Result]) -> Axis:
    """The y axis, from the best score to the worst, as far as these are not far beyond the others."""
    curves = [[point.bits for point in result.curve] for result in neural]
    levels = [[value] for value in (*_true_entropy(ladder, "valid"), *(result.valid.bits for result in ladder.results))]
    return Axis(*widen(loss_limits([*curves, *levels])), ladder.metric)


def _true_entropy(ladder: Ladder, split: str) -> list[float]:
    return [ladder.floors[split]] if split in ladder.floors else []


def _level_lines(panel: Panel, ladder: Ladder) -> list[Shape]:
    """Level lines with labels at the right: n-grams, and the true entropy where it is known."""
    levels = [(result.rung, result.valid.bits) for result in ladder.results if len(result.curve) <= 1]
    levels += [("true entropy", value) for value in _true_entropy(ladder, "valid")]
    visible = [(name, value) for name, value in levels if panel.y.low <= value <= panel.y.high]
    left, top, right, bottom = panel.box
    positions = [panel.to_pixels(panel.x.high, value)[1] for _, value in visible]
    shapes: list[Shape] = []
    for (name, value), y, text_y in zip(visible, positions, spread_apart(positions, 14.0, top, bottom), strict=True):
        shapes.append(Line(((left, y), (right, y)), "soft", 1.2))
        shapes.append(Text(right + 6.0, text_y + 4.0, truncate_text(name, _LABEL_SIZE, _WIDTH - _SIDES[1][1] - 8.0),
                           _LABEL_SIZE, "soft", tooltip=f"{name}: {value:.3f}"))  # fmt: skip
    return shapes


def cost_quality_plot(ladder: Ladder) -> Drawing:
    """Test scores with their confidence intervals against training time and parameters."""
    styles = rung_styles(ladder)
    dots = [
        Dot(row.rung, row.bits, row.seconds, row.parameters, styles[row.rung][0], f"{row.bits.value:.3f} "
            f"({row.bits.low:.3f} to {row.bits.high:.3f})")
        for row in ladder.rows
    ]  # fmt: skip
    return draw_cost_quality(dots, ladder.metric, f"{ladder.metric}, test text", ladder.advice.rung,
                             _true_entropy(ladder, "test"))  # fmt: skip
