"""The figures of a ladder: learning curves, and cost against quality."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firth.report.labels import Anchor, Box, place, text_width
from firth.report.plot import Axis, Panel, apart, short
from firth.report.scene import Dot, Line, Role, Scene, Shape, Text, group
from firth.runs.ladder import Ladder, Point, Result, Row

_WIDE, _HIGH = 1080.0, 400.0
_PANELS = (Box(58.0, 86.0, 466.0, 350.0), Box(598.0, 86.0, 1006.0, 350.0))
_RAISED = 44.0  # how much higher panels stand where there is no legend
_ABOVE = 1.8  # times the best score: what is worse stands above the picture
_SIZE = 11.0


def colours(found: Ladder) -> dict[str, Role]:
    """A colour for each rung that was trained step by step; the others are grey."""
    curved = [result.rung for result in found.results if len(result.curve) > 1]
    return {result.rung: "soft" for result in found.results} | {
        name: group(number)[0] for number, name in enumerate(curved)
    }


def learning(found: Ladder) -> Scene | None:
    """Validation scores against seconds and against tokens; rungs without a curve are level lines."""
    curved = [result for result in found.results if len(result.curve) > 1]
    if not curved:
        return None
    ways: tuple[tuple[str, Callable[[Point], float]], ...] = (
        ("seconds of training", lambda point: point.seconds),
        ("tokens read", lambda point: float(point.tokens)),
    )
    height = _height(found, curved)
    shapes: list[Shape] = _legend([result.rung for result in curved], colours(found))
    for box, (name, value) in zip(_PANELS, ways, strict=True):
        most = max(value(point) for result in curved for point in result.curve)
        panel = Panel(box, Axis(0.0, most or 1.0, name), height, f"{found.yardstick}, validation text")
        shapes += [*panel.frame(), *_levels(panel, found)]
        for result in curved:
            shapes += _curve(panel, result, value, colours(found)[result.rung], found.yardstick)
    return Scene(_WIDE, _HIGH, "Learning curves", tuple(shapes))


def _height(found: Ladder, curved: Sequence[Result]) -> Axis:
    """From the best score to the worst, but not far above where curves end."""
    levels = [result.valid.bits for result in found.results]
    ends = [result.curve[-1].bits for result in curved]
    low = min([*levels, *ends, *_floor(found, "valid")])
    top = max([*levels, *(point.bits for result in curved for point in result.curve)])
    high = min(top, max(_ABOVE * low, 1.1 * max(ends)))
    margin = (high - low or low) * 0.06
    return Axis(low - margin, high + margin, found.yardstick)


def _floor(found: Ladder, split: str) -> list[float]:
    return [found.floors[split]] if split in found.floors else []


def _legend(names: Sequence[str], colour: dict[str, Role]) -> list[Shape]:
    shapes: list[Shape] = []
    x = _PANELS[0].left
    for name in names:
        shapes += [Line(((x, 36.0), (x + 18.0, 36.0)), colour[name], 2.4), Text(x + 23.0, 40.0, name)]
        x += 23.0 + text_width(name, 12.0) + 20.0
    return shapes


def _levels(panel: Panel, found: Ladder) -> list[Shape]:
    """Level lines with their names at the right: n-grams, and what the text would cost who knows the truth."""
    levels = [(result.rung, result.valid.bits) for result in found.results if len(result.curve) <= 1]
    levels += [("the truth", value) for value in _floor(found, "valid")]
    shown = [(name, value) for name, value in levels if panel.y.low <= value <= panel.y.high]
    left, top, right, bottom = panel.box
    heights = [panel.at(panel.x.high, value)[1] for _, value in shown]
    shapes: list[Shape] = []
    for (name, value), y, text_y in zip(shown, heights, apart(heights, 14.0, top, bottom), strict=True):
        shapes.append(Line(((left, y), (right, y)), "soft", 1.2))
        shapes.append(Text(right + 6.0, text_y + 4.0, name, _SIZE, "soft", about=f"{name}: {value:.3f}"))
    return shapes


def _curve(panel: Panel, result: Result, value: Callable[[Point], float], colour: Role, unit: str) -> list[Shape]:
    points = [(value(point), point.bits) for point in result.curve]
    path = panel.path(points)
    shapes: list[Shape] = [Line(tuple(path), colour, 2.0)] if len(path) > 1 else []
    for x, y in points:
        if y <= panel.y.high:
            shapes.append(Dot(*panel.at(x, y), 2.6, colour, f"{result.rung}: {y:.3f} {unit} at {short(x)}"))
    return shapes


def cost(found: Ladder) -> Scene:
    """Test scores with their intervals against seconds and against parameters."""
    ways: tuple[tuple[str, Callable[[Row], float]], ...] = (
        ("seconds of training", lambda row: max(row.seconds, 0.01)),
        ("parameters (numbers that were learned)", lambda row: float(max(row.parameters, 1))),
    )
    low, high = min(row.bits.low for row in found.rows), max(row.bits.high for row in found.rows)
    margin = (high - low or high) * 0.06
    height = Axis(min([low, *_floor(found, "test")]) - margin, high + margin, found.yardstick)
    shapes: list[Shape] = []
    for box, (name, value) in zip(_PANELS, ways, strict=True):
        values = [value(row) for row in found.rows]
        across = Axis(min(values) / 1.8, max(values) * 1.8, name, log=True)
        box = box._replace(top=box.top - _RAISED, bottom=box.bottom - _RAISED)
        shapes += _scattered(Panel(box, across, height, f"{found.yardstick}, test text"), found, value)
    return Scene(_WIDE, _HIGH - _RAISED, "Cost against quality", tuple(shapes))


def _scattered(panel: Panel, found: Ladder, value: Callable[[Row], float]) -> list[Shape]:
    shapes, bars, anchors = panel.frame(), [], []
    for floor in _floor(found, "test"):
        ends = panel.at(panel.x.low, floor), panel.at(panel.x.high, floor)
        shapes += [Line(ends, "soft", 1.2), Text(ends[1][0] + 6.0, ends[1][1] + 4.0, "the truth", _SIZE, "soft")]
    for row in found.rows:
        x = value(row)
        (across, down), up = panel.at(x, row.bits.low), panel.at(x, row.bits.high)[1]
        bars.append((across, up, across, down))
        anchors.append(Anchor(*panel.at(x, row.bits.value), 5.0, row.rung))
        shapes.append(Line(((across, up), (across, down)), colours(found)[row.rung], 1.4))
        about = f"{row.rung}: {row.bits.value:.3f} ({row.bits.low:.3f} to {row.bits.high:.3f}) at {short(x)}"
        shapes.append(Dot(*panel.at(x, row.bits.value), 4.5, colours(found)[row.rung], about))
    for label in place(anchors, Box(panel.box.left, panel.box.top, _WIDE, panel.box.bottom), 12.0, bars):
        if label:
            chosen = "bold" if label.text == found.advice.rung else "normal"
            shapes += (
                [Line(((label.leader[0], label.leader[1]), (label.leader[2], label.leader[3])), "line")]
                if label.leader
                else []
            )
            shapes.append(Text(label.x, label.y, label.text, 12.0, "ink", label.align, chosen))
    return shapes
