"""Curves in a panel: broken where a value is not a number, clipped at the limits with a mark, and a note about it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from firth.report.axes import Panel, format_number
from firth.report.drawing import ColourName, Line, Point, Polygon, Shape, marker

_EDGE_MARK = 4.0  # half the width of the triangle where a curve leaves the panel


def draw_curve(
    panel: Panel,
    points: Sequence[Point],
    style: tuple[ColourName, str],
    width: float = 1.6,
    radius: float = 0.0,
    tooltip: Callable[[Point], str] = lambda point: "",
) -> list[Shape]:
    """A line of a style (colour and marker); with a radius each point has a marker, else only one that stands alone."""
    colour, shape = style
    shapes: list[Shape] = [Line(tuple(part), colour, width) for part in clip_line(panel, points)]
    for index, point in enumerate(points):
        if _side(panel, point) == 0 and (radius or _is_alone(panel, points, index)):
            shapes.append(marker(*panel.to_pixels(*point), radius or 2.6, colour, shape, tooltip(point)))
    return [*shapes, *_edge_marks(panel, points, colour)]


def clip_line(panel: Panel, points: Sequence[Point]) -> list[list[Point]]:
    """The parts of a line within the limits of the y axis, in pixels."""
    parts: list[list[Point]] = []
    for a, b in itertools.pairwise([panel.to_pixels(*point) for point in points]):
        segment = _clip(a, b, panel.box.top, panel.box.bottom)
        if segment is None:
            continue
        if parts and parts[-1][-1] == segment[0]:
            parts[-1].append(segment[1])
        else:
            parts.append(list(segment))
    return parts


def clipping_note(panel: Panel, curves: Mapping[str, Sequence[Point]]) -> str:
    """A sentence about what the limits clip and what is not a number; empty if all is shown."""
    clipped, undefined = [], 0
    for name, points in curves.items():
        sides = [_side(panel, point) for point in points]
        undefined += sides.count(None)
        above = [y for (_, y), side in zip(points, sides, strict=True) if side == 1]
        below = [y for (_, y), side in zip(points, sides, strict=True) if side == -1]
        clipped += [f"{name} up to {format_number(max(above))}"] if above else []
        clipped += [f"{name} down to {format_number(min(below))}"] if below else []
    notes = [f"Clipped at the edge (triangles): {', '.join(clipped)}."] if clipped else []
    if undefined:
        notes.append(f"{undefined:,} value{'s are' if undefined > 1 else ' is'} not finite and left out.")
    return " ".join(notes)


def _side(panel: Panel, point: Point) -> int | None:
    """1: above the limits, -1: below, 0: within; None: no place."""
    if math.isnan(panel.x.fraction(point[0])) or math.isnan(panel.y.fraction(point[1])):
        return None
    return (point[1] > panel.y.high) - (point[1] < panel.y.low)


def _is_alone(panel: Panel, points: Sequence[Point], index: int) -> bool:
    return all(_side(panel, point) is None for point in (*points[max(0, index - 1) : index], *points[index + 1 :][:1]))


def _clip(a: Point, b: Point, top: float, bottom: float) -> tuple[Point, Point] | None:
    """The part of a segment between two heights; None if there is none."""
    if not all(map(math.isfinite, (*a, *b))):
        return None
    if a[1] == b[1]:
        return (a, b) if top <= a[1] <= bottom else None
    first, second = sorted((edge - a[1]) / (b[1] - a[1]) for edge in (top, bottom))
    start, stop = max(0.0, first), min(1.0, second)
    if start >= stop:
        return None

    def at(fraction: float) -> Point:
        point = {0.0: a, 1.0: b}.get(fraction) or (a[0] + fraction * (b[0] - a[0]), a[1] + fraction * (b[1] - a[1]))
        return point[0], min(max(point[1], top), bottom)  # far values are not exact

    return at(start), at(stop)


def _edge_marks(panel: Panel, points: Sequence[Point], colour: ColourName) -> list[Shape]:
    """A triangle for each clipped part, where it is farthest outside."""
    shapes: list[Shape] = []
    for side, group in itertools.groupby(points, lambda point: _side(panel, point)):
        if side:
            x, y = max(group, key=lambda point: side * point[1])
            across, _ = panel.to_pixels(x, panel.y.high)
            edge = panel.box.top if side > 0 else panel.box.bottom
            base = edge + side * 1.6 * _EDGE_MARK
            corners = ((across, edge), (across - _EDGE_MARK, base), (across + _EDGE_MARK, base))
            shapes.append(Polygon(corners, colour, f"{format_number(y)} at {format_number(x)}"))
    return shapes
