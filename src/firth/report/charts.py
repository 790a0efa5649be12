"""Line and bar charts as SVG text: no script, no plotting library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#4a5568")  # distinguishable by colour-blind readers
_WIDTH, _HEIGHT = 720, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 36, 44


@dataclass(frozen=True)
class Series:
    """A line of a chart, with `markers` at its points if wanted."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    markers: bool = False


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float  # in pixels
    stop: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, value = map(math.log10, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return self.start + (value - low) / (high - low or 1.0) * (self.stop - self.start)

    def ticks(self) -> list[float]:
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)


def line_chart(title: str, x_label: str, y_label: str, series: Sequence[Series], *, log_scale: bool = False) -> str:
    """A line chart over a common x axis, with `log_scale` on logarithmic axes; empty series are left out."""
    series = [line for line in series if len(line.x)]
    if not series:
        return ""
    xs, ys = [v for line in series for v in line.x], [v for line in series for v in line.y]
    x = _Scale(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, log_scale)
    margin = (max(ys) - min(ys) or abs(max(ys)) or 1.0) * 0.05
    low, high = (min(ys) / 1.3, max(ys) * 1.3) if log_scale else (min(ys) - margin, max(ys) + margin)
    y = _Scale(low, high, _HEIGHT - _BOTTOM, _TOP, log_scale)
    parts = [*_axes(x, y, x_label, y_label), *(_line(line, x, y, i) for i, line in enumerate(series)), _legend(series)]
    return _chart(title, parts)


def bar_chart(title: str, x_label: str, y_label: str, x: Sequence[float], heights: Sequence[float]) -> str:
    """A bar chart: a bar at each x, equally spaced, from zero. Empty text if there is no bar."""
    if not len(x):
        return ""
    step = min((b - a for a, b in itertools.pairwise(x)), default=1.0)
    x_scale = _Scale(min(x) - step / 2, max(x) + step / 2, _LEFT, _WIDTH - _RIGHT)
    y_scale = _Scale(0.0, max(heights) * 1.05 or 1.0, _HEIGHT - _BOTTOM, _TOP)
    width = 0.8 * (x_scale.at(step) - x_scale.at(0))
    bars = [
        f'<rect x="{x_scale.at(value) - width / 2:.1f}" y="{y_scale.at(height):.1f}" width="{width:.1f}" '
        f'height="{y_scale.at(0) - y_scale.at(height):.1f}" fill="{COLOURS[0]}"/>'
        for value, height in zip(x, heights, strict=True)
    ]
    return _chart(title, [*_axes(x_scale, y_scale, x_label, y_label), *bars])


def _chart(title: str, parts: Sequence[str]) -> str:
    label = escape(title)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f'<text class="title" x="{_LEFT}" y="16">{label}</text>{"".join(parts)}</svg>'
    )


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
    """Tick values of a logarithmic axis: powers of ten, and also 2 and 5 times these where there are few."""
    tens = [10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    values = [value for value in tens if low <= value <= high]
    if len(values) >= 3:
        return values
    return [value * m for value in tens for m in (1, 2, 5) if low <= value * m <= high]


def _axes(x: _Scale, y: _Scale, x_label: str, y_label: str) -> list[str]:
    parts = []
    for value in y.ticks():
        at = f"{y.at(value):.1f}"
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{at}" dy="4" text-anchor="end">{_tick_label(value)}</text>'
        )
    for value in x.ticks():
        parts.append(
            f'<text class="tick" x="{x.at(value):.1f}" y="{_HEIGHT - _BOTTOM + 16}" '
            f'text-anchor="middle">{_tick_label(value)}</text>'
        )
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text class="label" x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text class="label" transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>"
    )
    return parts


def _line(line: Series, x: _Scale, y: _Scale, index: int) -> str:
    colour = COLOURS[index % len(COLOURS)]
    points = [(x.at(a), y.at(b)) for a, b in zip(line.x, line.y, strict=True)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    text = f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>'
    if line.markers or len(points) == 1:
        text += "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{colour}"/>' for a, b in points)
    return text


def _legend(series: Sequence[Series]) -> str:
    parts, at = [], _WIDTH - _RIGHT
    for index, line in reversed(list(enumerate(series))):
        at -= 7 * len(line.name) + 26
        colour = COLOURS[index % len(COLOURS)]
        parts.append(
            f'<rect x="{at}" y="8" width="12" height="4" fill="{colour}"/>'
            f'<text class="label" x="{at + 16}" y="14">{escape(line.name)}</text>'
        )
    return "".join(parts)


def _tick_label(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:g}"
