"""A panel of a figure: a pair of axes with ticks, and the mapping from data to pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firth.report.drawing import Line, Shape, Text
from firth.report.label_layout import Box, text_width

_TICK_SIZE = 11.0
_TICK_DIGITS = 6  # so that neighbouring ticks differ


@dataclass(frozen=True)
class Axis:
    """An axis with limits and a label, on a linear or a logarithmic scale."""

    low: float
    high: float
    label: str
    log_scale: bool = False
    whole: bool = False  # only whole numbers have a meaning

    def fraction(self, value: float) -> float:
        """The position of a value along the axis: 0 to 1 within the limits, NaN where there is none."""
        if not math.isfinite(value) or (self.log_scale and value <= 0):
            return math.nan
        low, high, value = (
            map(math.log, (self.low, self.high, value)) if self.log_scale else (self.low, self.high, value)
        )
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self, length: float) -> list[float]:
        """Tick values: round numbers, as many as fit side by side into `length` pixels."""
        values = self._round_values(length / 60)
        label_width = max((text_width(format_tick(value), _TICK_SIZE) for value in values), default=0.0) + 12.0
        return values[:: max(1, math.ceil(len(values) * label_width / length))] if length else values

    def rows(self, height: float) -> list[float]:
        """Tick values, one above the other."""
        return self._round_values(height / 36)

    def _round_values(self, count: float) -> list[float]:
        values = log_ticks(self.low, self.high) if self.log_scale else ticks(self.low, self.high, max(2, int(count)))
        return [value for value in values if value == round(value)] if self.whole else values


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
        for value in self.y.rows(bottom - top):
            _, height = self.to_pixels(self.x.high, value)
            shapes.append(Line(((left, height), (right, height)), "line", 0.7))
            shapes.append(Text(left - 6.0, height + 4.0, format_tick(value), _TICK_SIZE, "soft", "end"))
        for value in self.x.ticks(right - left):
            across, _ = self.to_pixels(value, self.y.low)
            shapes.append(Line(((across, bottom), (across, bottom + 4.0)), "line", 0.7))
            shapes.append(Text(across, bottom + 17.0, format_tick(value), _TICK_SIZE, "soft", "middle"))
        shapes.append(Text((left + right) / 2, bottom + 36.0, self.x.label, _TICK_SIZE, "soft", "middle"))
        return shapes


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Tick values: round numbers between two limits, about as many as `about`."""
    if high <= low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Tick values of a logarithmic axis: powers of ten, and also 2 and 5 times these where there are few.

    Within less than a factor of five these may be one or none, and then they are round numbers.
    """
    tens = [10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    values = [value for value in tens if low <= value <= high]
    if len(values) >= 3:
        return values
    values = [value * m for value in tens for m in (1, 2, 5) if low <= value * m <= high]
    return values if len(values) >= 2 else ticks(low, high)


def format_number(value: float, digits: int = 3) -> str:
    """Format a number in few characters, with so many digits: 12.3, 1.23k, 2.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= (1 - 0.5 * 10**-digits) * size:  # would be rounded up to it
            return f"{value / size:.{digits}g}{unit}"
    return f"{value:.{digits}g}"


def format_tick(value: float) -> str:
    """Format the number at a tick."""
    return format_number(value, _TICK_DIGITS)


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
