"""The scores of systems with their confidence intervals, against training time and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firth.report.axes import Axis, Panel, format_number
from firth.report.drawing import Circle, ColourName, Drawing, Line, Shape, Text
from firth.report.label_layout import Anchor, Box, place_labels, truncate_text
from firth.report.limits import widen
from firth.runs.base_ladder import ConfidenceInterval

_WIDTH, _PANEL_HEIGHT = 1080.0, 264.0
_SIDES = ((58.0, 466.0), (598.0, 1006.0))  # left and right of the panels
_TOP, _BOTTOM = 42.0, 50.0  # around a panel
_LABEL_SIZE = 11.0


@dataclass(frozen=True)
class Dot:
    """A system: its score, as it is drawn, and what it costs."""

    name: str
    score: ConfidenceInterval
    seconds: float  # of training
    parameters: int
    colour: ColourName
    text: str  # the score and its interval


def draw_cost_quality(
    dots: Sequence[Dot], axis: str, title: str, chosen: str, floors: Sequence[float] = ()
) -> Drawing:
    """Two panels: against seconds of training, and against parameters. `floors` are lines of true entropy."""
    x_axes: tuple[tuple[str, Callable[[Dot], float]], ...] = (
        ("seconds of training", lambda dot: max(dot.seconds, 0.01)),
        ("parameters", lambda dot: float(max(dot.parameters, 1))),
    )
    ends = [value for dot in dots for value in (dot.score.low, dot.score.high)]
    y_axis = Axis(*widen((min([*ends, *floors]), max(ends))), axis)
    shapes: list[Shape] = []
    for (left, right), (name, value) in zip(_SIDES, x_axes, strict=True):
        values = [value(dot) for dot in dots]
        x_axis = Axis(min(values) / 1.8, max(values) * 1.8, name, log_scale=True)
        box = Box(left, _TOP, right, _TOP + _PANEL_HEIGHT)
        panel = Panel(box, x_axis, y_axis, title)
        shapes += [*panel.draw_axes(), *_floor_lines(panel, floors), *_scatter(panel, dots, value, chosen)]
    return Drawing(_WIDTH, _TOP + _PANEL_HEIGHT + _BOTTOM, "Quality against cost", tuple(shapes))


def _floor_lines(panel: Panel, floors: Sequence[float]) -> list[Shape]:
    shapes: list[Shape] = []
    for floor in floors:
        ends = panel.to_pixels(panel.x.low, floor), panel.to_pixels(panel.x.high, floor)
        label = Text(ends[1][0] + 6.0, ends[1][1] + 4.0, "true entropy", _LABEL_SIZE, "soft")
        shapes += [Line(ends, "soft", 1.2), label]
    return shapes


def _scatter(panel: Panel, dots: Sequence[Dot], value: Callable[[Dot], float], chosen: str) -> list[Shape]:
    shapes: list[Shape] = []
    intervals, anchors = [], []
    for dot in dots:
        x = value(dot)
        (across, down), up = panel.to_pixels(x, dot.score.low), panel.to_pixels(x, dot.score.high)[1]
        intervals.append((across, up, across, down))
        anchors.append(Anchor(*panel.to_pixels(x, dot.score.value), 5.0, truncate_text(dot.name, 12.0, 180.0)))
        shapes.append(Line(((across, up), (across, down)), dot.colour, 1.4))
        tooltip = f"{dot.name}: {dot.text} at {format_number(x)}"
        shapes.append(Circle(*panel.to_pixels(x, dot.score.value), 4.5, dot.colour, tooltip))
    for label in place_labels(anchors, Box(panel.box.left, panel.box.top, _WIDTH, panel.box.bottom), 12.0, intervals):
        if label:
            weight = "bold" if label.text == chosen else "normal"
            ends = label.leader and (label.leader[:2], label.leader[2:])
            shapes += [Line(((ends[0][0], ends[0][1]), (ends[1][0], ends[1][1])), "line")] if ends else []
            shapes.append(Text(label.x, label.y, label.text, 12.0, "ink", label.align, weight))
    return shapes
