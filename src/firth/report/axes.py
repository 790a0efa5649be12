"""A panel of a figure: a pair of axes with ticks, and the mapping from data to pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firth.report.charts import log_ticks, ticks
from firth.report.drawing import Line, Shape, Text
from firth.report.label_layout import Box, text_width

_TICK_SIZE = 11.0


@dataclass(frozen=True)
class Axis:
    """An axis with limits and a label, on a linear or a logarithmic scale."""

    low: float
    high: float
    label: str
    log_scale: bool = False

    def fraction(self, value: float) -> float:
        """The position of a value along the axis, from 0 to 1."""
        low, high, value = (
            map(math.log, (self.low, self.high, value)) if self.log_scale else (self.low, self.high, value)
        )
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self, length: float) -> list[float]:
        """Tick values: round numbers, as many as fit into `length` pixels."""
        values = (
            log_ticks(self.low, self.high) if self.log_scale else ticks(self.low, self.high, max(2, int(length / 60)))
        )
        label_width = max((text_width(format_number(value), _TICK_SIZE) for value in values), default=0.0) + 12.0
        return values[:: max(1, math.ceil(len(values) * label_width / length))] if length else values


@dataclass(frozen=True)
class Panel:
    """A pair of axes in a box, with a title; y grows upwards."""

    box: Box
    x: Axis
    y: Axis
    title: str

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Map a data point to pixel coordinates."""
        left, top, right, bottom = self.box
        return left + self.x.fraction(x) * (right - left), bottom - self.y.fraction(y) * (bottom - top)

    def draw_axes(self) -> list[Shape]:
        """Draw the title, grid lines, ticks, tick labels and axis labels."""
        left, top, right, bottom = self.box
        shapes: list[Shape] = [Text(left, top - 12.0, self.title, 12.0, weight="bold")]
        rows = max(2, int((bottom - top) / 36))
        for value in log_ticks(self.y.low, self.y.high) if self.y.log_scale else ticks(self.y.low, self.y.high, rows):
            _, height = self.to_pixels(self.x.high, value)
            shapes.append(Line(((left, height), (right, height)), "line", 0.7))
            shapes.append(Text(left - 6.0, height + 4.0, f"{value:g}", _TICK_SIZE, "soft", "end"))
        for value in self.x.ticks(right - left):
            across, _ = self.to_pixels(value, self.y.low)
            shapes.append(Line(((across, bottom), (across, bottom + 4.0)), "line", 0.7))
            shapes.append(Text(across, bottom + 17.0, format_number(value), _TICK_SIZE, "soft", "middle"))
        shapes.append(Text((left + right) / 2, bottom + 36.0, self.x.label, _TICK_SIZE, "soft", "middle"))
        return shapes

    def clip_line(self, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Map a line to pixels, clipped at the upper limit of the y axis."""
        clipped: list[tuple[float, float]] = []
        for index, (x, y) in enumerate(points):
            previous = points[index - 1] if index else (x, y)
            if (y > self.y.high) != (previous[1] > self.y.high):
                fraction = (self.y.high - previous[1]) / (y - previous[1])
                clipped.append((previous[0] + fraction * (x - previous[0]), self.y.high))
            if y <= self.y.high:
                clipped.append((x, y))
        return [self.to_pixels(x, y) for x, y in clipped]


def format_number(value: float) -> str:
    """Format a number in few characters: 12.3, 1.23k, 2.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:  # would be rounded up to it
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def spread_apart(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Shift positions as little as needed so that all are at least `gap` apart, in order and within the limits."""
    order = sorted(range(len(positions)), key=lambda n: positions[n])
    shifted = list(positions)
    floor = low
    for n in order:
        shifted[n] = max(shifted[n], floor)
        floor = shifted[n] + gap
    ceiling = high
    for n in reversed(order):
        shifted[n] = min(shifted[n], ceiling)
        ceiling = shifted[n] - gap
    return shifted
