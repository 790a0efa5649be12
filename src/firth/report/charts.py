"""Line and bar charts of a page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firth.report.axes import Axis, Panel, format_number
from firth.report.curves import clipping_note, draw_curve
from firth.report.drawing import ColourName, Drawing, Line, Polygon, Shape, Text, group_style, marker, to_svg
from firth.report.label_layout import Box
from firth.report.legend import Entry, legend
from firth.report.limits import Limits, finite, full_limits, widen
from firth.report.page import figure

_WIDTH, _HEIGHT = 720.0, 330.0
_BOX = Box(70.0, 58.0, _WIDTH - 16.0, _HEIGHT - 46.0)
_TOP_ALONE = 36.0  # of the box without a legend


@dataclass(frozen=True)
class Series:
    """A line of a chart, with `markers` at its points if wanted, or these without the line; `low` and `high` are the
    ends of an interval at each point, drawn as a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    markers: bool = False
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    line: bool = True

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points as pairs."""
        return [(float(x), float(y)) for x, y in zip(self.x, self.y, strict=True)]


def line_chart(
    title: str,
    x_label: str,
    y_label: str,
    series: Sequence[Series],
    *,
    log_x: bool = False,
    log_y: bool = False,
    limits: Callable[[Sequence[Sequence[float]]], Limits] = full_limits,
    x_limits: Limits | None = None,
    caption: str = "",
) -> str:
    """A line chart over whole numbers; the caption says what the limits clip. Empty without a finite value."""
    series = [line for line in series if finite(line.y)]
    if not series:
        return ""
    x_low, x_high = x_limits or full_limits([line.x for line in series])
    box = _BOX if len(series) > 1 else _BOX._replace(top=_TOP_ALONE)
    values = [each for line in series for each in (line.y, line.low, line.high) if len(each)]
    y_axis = Axis(*widen(limits(values), log_y), y_label, log_y)
    panel = Panel(box, Axis(x_low, x_high, x_label, log_x, whole=True), y_axis, "")
    shapes: list[Shape] = []
    entries = []
    for number, line in enumerate(series):
        style = group_style(number)
        entries.append(Entry(line.name, style[0], style[1] if line.markers else "", line=line.line))
        shapes += _draw_band(panel, line, style[0])
        shapes += _draw_points(panel, line, style)
    note = clipping_note(panel, {line.name: line.points for line in series})
    return _chart(title, panel, entries, shapes, " ".join(filter(None, (caption, note))))


def _draw_band(panel: Panel, line: Series, colour: ColourName) -> list[Shape]:
    """The interval around a line; around points without a line, one bar each."""
    ends = [*zip(line.x, line.low, line.high, strict=True)] if len(line.low) else []
    if line.line:
        edge = [(x, low) for x, low, _ in ends] + [(x, high) for x, _, high in reversed(ends)]
        corners = tuple(panel.to_pixels(*point) for point in edge)
        return [Polygon(corners, colour, opacity=0.15)] if len(ends) > 1 else []
    return [Line((panel.to_pixels(x, low), panel.to_pixels(x, high)), colour, 1.2) for x, low, high in ends]


def _draw_points(panel: Panel, line: Series, style: tuple[ColourName, str]) -> list[Shape]:
    describe = _describe(line.name)
    if line.line:
        return draw_curve(panel, line.points, style, radius=2.6 * line.markers, tooltip=describe)
    return [marker(*panel.to_pixels(*point), 3.6, *style, describe(point)) for point in line.points]


def _describe(name: str) -> Callable[[tuple[float, float]], str]:
    return lambda point: f"{name}: {format_number(point[1], 4)} at {format_number(point[0], 4)}"


def bar_chart(title: str, x_label: str, y_label: str, x: Sequence[float], heights: Sequence[float]) -> str:
    """A bar chart: a bar from zero at each x, which are equally spaced whole numbers. Empty text if there is no bar."""
    if not len(x):
        return ""
    step = min((b - a for a, b in itertools.pairwise(x)), default=1.0)
    x_axis = Axis(min(x) - step / 2, max(x) + step / 2, x_label, whole=True)
    panel = Panel(_BOX._replace(top=_TOP_ALONE), x_axis, Axis(0.0, max(heights) * 1.05 or 1.0, y_label), "")
    bars: list[Shape] = []
    for value, height in zip(x, heights, strict=True):
        (left, top), (right, bottom) = (
            panel.to_pixels(value - 0.4 * step, height),
            panel.to_pixels(value + 0.4 * step, 0.0),
        )
        corners = ((left, top), (right, top), (right, bottom), (left, bottom))
        bars.append(Polygon(corners, "group 1", f"{format_number(value)}: {format_number(height)}"))
    return _chart(title, panel, [], bars, "")


def _chart(title: str, panel: Panel, entries: Sequence[Entry], shapes: Sequence[Shape], caption: str) -> str:
    """A page's figure: title, legend of several lines, axes, shapes and caption."""
    left, top, right, bottom = panel.box
    y_label = Text(16.0, (top + bottom) / 2, panel.y.label, 11.0, "soft", "middle", rotation=-90.0)
    head: list[Shape] = [Text(left, 16.0, title, 14.0, weight="bold"), y_label]
    head += legend(entries, left, 40.0, right)[0] if len(entries) > 1 else []
    drawing = Drawing(_WIDTH, _HEIGHT, title, (*head, *panel.draw_axes(), *shapes))
    return figure(to_svg(drawing), caption)
