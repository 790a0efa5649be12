"""Scatter plot of a prompt comparison: each word at its probability under one prompt and under the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from firth.report.axes import Axis, Panel
from firth.report.drawing import ColourName, Drawing, Line, Shape, Text, marker
from firth.report.figure import Figure
from firth.report.label_layout import Anchor, Box, Label, place_labels, truncate_text, wrap_text

_SIZES = (620.0, 820.0, 1040.0, 1300.0)  # of the panel: the first where 95 % of the labels fit, or the last
_LEFT, _RIGHT, _BELOW = 74.0, 28.0, 58.0  # margins: tick labels; half a tick label; tick labels and axis label
_LABEL_SIZE, _RADIUS, _MAX_LABEL_WIDTH = 12.0, 3.5, 160.0
SIDE_STYLES: dict[str, tuple[ColourName, str]] = {
    "a": ("group 1", "circle"),
    "b": ("group 2", "triangle"),
    "both": ("soft", "square"),
}


class Point(NamedTuple):
    """A word: its probabilities under the first and the second prompt, and its side (a key of SIDE_STYLES)."""

    text: str
    a: float
    b: float
    side: str


def scatter_plot(a: str, b: str, points: Sequence[Point], caption: str) -> Figure:
    """Draw the words on logarithmic axes; those on the diagonal are equally probable under both prompts.

    Labels of earlier points have priority.
    """
    for size in _SIZES:
        layout = _ScatterLayout(a, b, points, size)
        if layout.labels.count(None) <= len(points) // 100 * 5:
            break
    return layout.figure(caption)


class _ScatterLayout:
    """The scatter plot at one panel size."""

    def __init__(self, a: str, b: str, points: Sequence[Point], size: float) -> None:
        self.points, self.names, self.width = points, (_single_line(a), _single_line(b)), _LEFT + size + _RIGHT
        self.head, top = self._head()
        axes = _axes(points, self.names, size)
        self.panel = Panel(
            Box(_LEFT, top, _LEFT + size, top + size), *axes, self._truncate(f"p with “{self.names[1]}”")
        )
        low, high = axes[0].low, axes[0].high
        self.diagonal = self.panel.to_pixels(low, low), self.panel.to_pixels(high, high)
        self.positions = [self.panel.to_pixels(max(point.a, low), max(point.b, low)) for point in points]
        self.labels = self._labels()

    def _truncate(self, text: str) -> str:
        return truncate_text(text, _LABEL_SIZE, self.width - _LEFT - _RIGHT)

    def _head(self) -> tuple[list[Shape], float]:
        """The title and the legend, a line each; and where the panel begins."""
        title = f"“{self.names[0]}” and “{self.names[1]}”"
        shapes: list[Shape] = [Text(20.0, 30.0, truncate_text(title, 16.0, self.width - 40.0), 16.0, weight="bold")]
        prompts = {"a": f"with “{self.names[0]}”", "b": f"with “{self.names[1]}”"}
        y = 54.0
        for side, (colour, shape) in SIDE_STYLES.items():
            description = (
                f"at least twice as probable {prompts[side]}" if side in prompts else "less than twice as probable"
            )
            text = truncate_text(description, 12.0, self.width - 60.0)
            shapes += [marker(25.0, y - 4.0, 4.5, colour, shape), Text(35.0, y, text, 12.0)]
            y += 18.0
        return shapes, y + 26.0

    def _labels(self) -> list[Label | None]:
        each = zip(self.points, self.positions, strict=True)
        radius = {"circle": _RADIUS, "triangle": 1.4 * _RADIUS, "square": 1.25 * _RADIUS}
        anchors = [
            Anchor(
                *position,
                radius[SIDE_STYLES[point.side][1]],
                truncate_text(_single_line(point.text), _LABEL_SIZE, _MAX_LABEL_WIDTH),
            )
            for point, position in each
        ]
        box = self.panel.box
        area = Box(box.left + 2.0, box.top + 2.0, self.width - 4.0, box.bottom - 2.0)
        return place_labels(anchors, area, _LABEL_SIZE, [(*self.diagonal[0], *self.diagonal[1])])

    def figure(self, caption: str) -> Figure:
        """Assemble the figure."""
        dropped = sum(label is None for label in self.labels)
        dropped_note = f" {dropped:,} label{'s have' if dropped > 1 else ' has'} no room." if dropped else ""
        bottom = self.panel.box.bottom + _BELOW
        lines = wrap_text(caption + dropped_note, 11.0, self.width - 40.0)
        foot = [Text(20.0, bottom + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(lines)]
        shapes = (*self.head, *self.panel.draw_axes(), Line(self.diagonal, "soft", 0.8), *self._markers(), *foot)
        title = f"{self.names[0]} | {self.names[1]}"
        drawing = Drawing(self.width, bottom + 15.0 * len(lines) + 4.0, title, shapes)
        rows = tuple(_row(point, label) for point, label in zip(self.points, self.labels, strict=True))
        return Figure(drawing, caption + dropped_note, rows, dropped)

    def _markers(self) -> list[Shape]:
        leaders, markers, texts = [], [], []
        for point, position, label in zip(self.points, self.positions, self.labels, strict=True):
            colour, shape = SIDE_STYLES[point.side]
            tooltip = f"{_single_line(point.text)}: {point.a:.3g} and {point.b:.3g}"
            markers.append(marker(*position, _RADIUS, colour, shape, tooltip))
            if label:
                text_colour = "ink" if point.side == "both" else colour
                texts.append(Text(label.x, label.y, label.text, _LABEL_SIZE, text_colour, label.align, tooltip=tooltip))
                leaders += [Line((label.leader[:2], label.leader[2:]), "soft", 0.6)] if label.leader else []
        return [*leaders, *markers, *texts]


def _axes(points: Sequence[Point], names: Sequence[str], size: float) -> tuple[Axis, Axis]:
    """Two axes with the same limits and a margin; words of probability zero are drawn at the lower limit."""
    positive = [probability for point in points for probability in point[1:3] if probability > 0]
    low, high = math.log(min(positive)), math.log(max(positive))
    margin = 0.05 * (high - low) or 1.0
    limits = math.exp(low - margin), math.exp(high + margin)
    name = truncate_text(f"p with “{names[0]}”", 11.0, size)
    return Axis(*limits, name, log_scale=True), Axis(*limits, "", log_scale=True)


def _row(point: Point, label: Label | None) -> dict[str, Any]:
    return {"word": point.text, "log p with a": _log(point.a), "log p with b": _log(point.b),
            "side": point.side, "labelled": label is not None}  # fmt: skip


def _log(probability: float) -> float | None:
    return math.log(probability) if probability > 0 else None


def _single_line(text: str) -> str:
    return " ".join(text.split())
