"""A panel of a figure: two axes with round numbers, and where values stand on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firth.report.labels import Box, text_width
from firth.report.scene import Line, Shape, Text
from firth.report.svg import decades, ticks

_SMALL = 11.0


@dataclass(frozen=True)
class Axis:
    """Values between two ends, on a straight or a logarithmic scale."""

    low: float
    high: float
    name: str
    log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1."""
        low, high, value = map(math.log, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return (value - low) / (high - low) if high > low else 0.5

    def marks(self, room: float) -> list[float]:
        """Round numbers, as many as there is room for."""
        found = decades(self.low, self.high) if self.log else ticks(self.low, self.high, max(2, int(room / 60)))
        wide = max((text_width(short(value), _SMALL) for value in found), default=0.0) + 12.0
        return found[:: max(1, math.ceil(len(found) * wide / room))] if room else found


@dataclass(frozen=True)
class Panel:
    """Axes in a box; y grows upwards."""

    box: Box
    x: Axis
    y: Axis
    title: str

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point stands on the paper."""
        left, top, right, bottom = self.box
        return left + self.x.share(x) * (right - left), bottom - self.y.share(y) * (bottom - top)

    def frame(self) -> list[Shape]:
        """Title, grid, numbers and names of the axes."""
        left, top, right, bottom = self.box
        shapes: list[Shape] = [Text(left, top - 12.0, self.title, 12.0, weight="bold")]
        rows = max(2, int((bottom - top) / 36))
        for value in decades(self.y.low, self.y.high) if self.y.log else ticks(self.y.low, self.y.high, rows):
            _, height = self.at(self.x.high, value)
            shapes.append(Line(((left, height), (right, height)), "line", 0.7))
            shapes.append(Text(left - 6.0, height + 4.0, f"{value:g}", _SMALL, "soft", "end"))
        for value in self.x.marks(right - left):
            across, _ = self.at(value, self.y.low)
            shapes.append(Line(((across, bottom), (across, bottom + 4.0)), "line", 0.7))
            shapes.append(Text(across, bottom + 17.0, short(value), _SMALL, "soft", "middle"))
        shapes.append(Text((left + right) / 2, bottom + 36.0, self.x.name, _SMALL, "soft", "middle"))
        return shapes

    def path(self, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """A line on the paper; where it is above the axis, it runs along the upper edge or is left out at its ends."""
        kept: list[tuple[float, float]] = []
        for number, (x, y) in enumerate(points):
            before = points[number - 1] if number else (x, y)
            if (y > self.y.high) != (before[1] > self.y.high):
                share = (self.y.high - before[1]) / (y - before[1])
                kept.append((before[0] + share * (x - before[0]), self.y.high))
            if y <= self.y.high:
                kept.append((x, y))
        return [self.at(x, y) for x, y in kept]


def short(value: float) -> str:
    """A number in few letters."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:  # what would be rounded up to it
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def apart(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights moved as little as need be so that all are a gap apart, in the same order, within the ends."""
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    found = list(heights)
    floor = low
    for n in order:
        found[n] = max(found[n], floor)
        floor = found[n] + gap
    ceiling = high
    for n in reversed(order):
        found[n] = min(found[n], ceiling)
        ceiling = found[n] - gap
    return found
