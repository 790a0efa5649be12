"""The figures of a ladder: learning curves, and quality against training time and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firth.report.axes import Axis, Panel, format_number, spread_apart
from firth.report.drawing import Circle, ColourName, Drawing, Line, Shape, Text, group_style
from firth.report.label_layout import Anchor, Box, place_labels, text_width
from firth.runs.ladder_folder import Ladder, Point, Result, Row

_WIDTH, _HEIGHT = 1080.0, 400.0
_PANELS = (Box(58.0, 86.0, 466.0, 350.0), Box(598.0, 86.0, 1006.0, 350.0))
_LEGEND_HEIGHT = 44.0  # panels move up by it where there is no legend
_MAX_RATIO = 1.8  # times the best score: worse scores are clipped
_LABEL_SIZE = 11.0


def rung_colours(ladder: Ladder) -> dict[str, ColourName]:
    """A colour for each rung with a learning curve; the others are grey."""
    neural = [result.rung for result in ladder.results if len(result.curve) > 1]
    return {result.rung: "soft" for result in ladder.results} | {
        name: group_style(number)[0] for number, name in enumerate(neural)
    }


def learning_curves(ladder: Ladder) -> Drawing | None:
    """Learning curves: validation scores against seconds and tokens; rungs without a curve are level lines."""
    neural = [result for result in ladder.results if len(result.curve) > 1]
    if not neural:
        return None
    x_axes: tuple[tuple[str, Callable[[Point], float]], ...] = (
        ("seconds of training", lambda point: point.seconds),
        ("training tokens", lambda point: float(point.tokens)),
    )
    y_axis = _y_axis(ladder, neural)
    shapes: list[Shape] = _legend([result.rung for result in neural], rung_colours(ladder))
    for box, (name, value) in zip(_PANELS, x_axes, strict=True):
        x_max = max(value(point) for result in neural for point in result.curve)
        panel = Panel(box, Axis(0.0, x_max or 1.0, name), y_axis, f"{ladder.metric}, validation text")
        shapes += [*panel.draw_axes(), *_level_lines(panel, ladder)]
        for result in neural:
            shapes += _curve(panel, result, value, rung_colours(ladder)[result.rung], ladder.metric)
    return Drawing(_WIDTH, _HEIGHT, "Learning curves", tuple(shapes))


def _y_axis(ladder: Ladder, neural: Sequence[Result]) -> Axis:
    """The y axis, from the best score to the worst, but not far above the ends of the curves."""
    levels = [result.valid.bits for result in ladder.results]
    final_scores = [result.curve[-1].bits for result in neural]
    low = min([*levels, *final_scores, *_true_entropy(ladder, "valid")])
    worst = max([*levels, *(point.bits for result in neural for point in result.curve)])
    high = min(worst, max(_MAX_RATIO * low, 1.1 * max(final_scores)))
    margin = (high - low or low) * 0.06
    return Axis(low - margin, high + margin, ladder.metric)


def _true_entropy(ladder: Ladder, split: str) -> list[float]:
    return [ladder.floors[split]] if split in ladder.floors else []


def _legend(names: Sequence[str], colour: dict[str, ColourName]) -> list[Shape]:
    shapes: list[Shape] = []
    x = _PANELS[0].left
    for name in names:
        shapes += [Line(((x, 36.0), (x + 18.0, 36.0)), colour[name], 2.4), Text(x + 23.0, 40.0, name)]
        x += 23.0 + text_width(name, 12.0) + 20.0
    return shapes


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
        shapes.append(Text(right + 6.0, text_y + 4.0, name, _LABEL_SIZE, "soft", tooltip=f"{name}: {value:.3f}"))
    return shapes


def _curve(panel: Panel, result: Result, value: Callable[[Point], float], colour: ColourName, unit: str) -> list[Shape]:
    points = [(value(point), point.bits) for point in result.curve]
    path = panel.clip_line(points)
    shapes: list[Shape] = [Line(tuple(path), colour, 2.0)] if len(path) > 1 else []
    for x, y in points:
        if y <= panel.y.high:
            shapes.append(
                Circle(*panel.to_pixels(x, y), 2.6, colour, f"{result.rung}: {y:.3f} {unit} at {format_number(x)}")
            )
    return shapes


def cost_quality_plot(ladder: Ladder) -> Drawing:
    """Test scores with their confidence intervals against training time and parameters."""
    x_axes: tuple[tuple[str, Callable[[Row], float]], ...] = (
        ("seconds of training", lambda row: max(row.seconds, 0.01)),
        ("parameters", lambda row: float(max(row.parameters, 1))),
    )
    low, high = min(row.bits.low for row in ladder.rows), max(row.bits.high for row in ladder.rows)
    margin = (high - low or high) * 0.06
    y_axis = Axis(min([low, *_true_entropy(ladder, "test")]) - margin, high + margin, ladder.metric)
    shapes: list[Shape] = []
    for box, (name, value) in zip(_PANELS, x_axes, strict=True):
        values = [value(row) for row in ladder.rows]
        x_axis = Axis(min(values) / 1.8, max(values) * 1.8, name, log_scale=True)
        box = box._replace(top=box.top - _LEGEND_HEIGHT, bottom=box.bottom - _LEGEND_HEIGHT)
        shapes += _scatter(Panel(box, x_axis, y_axis, f"{ladder.metric}, test text"), ladder, value)
    return Drawing(_WIDTH, _HEIGHT - _LEGEND_HEIGHT, "Quality against cost", tuple(shapes))


def _scatter(panel: Panel, ladder: Ladder, value: Callable[[Row], float]) -> list[Shape]:
    shapes, intervals, anchors = panel.draw_axes(), [], []
    for entropy in _true_entropy(ladder, "test"):
        ends = panel.to_pixels(panel.x.low, entropy), panel.to_pixels(panel.x.high, entropy)
        shapes += [
            Line(ends, "soft", 1.2),
            Text(ends[1][0] + 6.0, ends[1][1] + 4.0, "true entropy", _LABEL_SIZE, "soft"),
        ]
    for row in ladder.rows:
        x = value(row)
        (across, down), up = panel.to_pixels(x, row.bits.low), panel.to_pixels(x, row.bits.high)[1]
        intervals.append((across, up, across, down))
        anchors.append(Anchor(*panel.to_pixels(x, row.bits.value), 5.0, row.rung))
        shapes.append(Line(((across, up), (across, down)), rung_colours(ladder)[row.rung], 1.4))
        tooltip = f"{row.rung}: {row.bits.value:.3f} ({row.bits.low:.3f} to {row.bits.high:.3f}) at {format_number(x)}"
        shapes.append(Circle(*panel.to_pixels(x, row.bits.value), 4.5, rung_colours(ladder)[row.rung], tooltip))
    for label in place_labels(anchors, Box(panel.box.left, panel.box.top, _WIDTH, panel.box.bottom), 12.0, intervals):
        if label:
            weight = "bold" if label.text == ladder.advice.rung else "normal"
            shapes += (
                [Line(((label.leader[0], label.leader[1]), (label.leader[2], label.leader[3])), "line")]
                if label.leader
                else []
            )
            shapes.append(Text(label.x, label.y, label.text, 12.0, "ink", label.align, weight))
    return shapes
