"""Two prompts compared: each word at its probability with one and with the other, as SVG, HTML or PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from firth.report.figure import Figure
from firth.report.labels import Anchor, Box, Label, place, shortened, wrapped
from firth.report.plot import Axis, Panel
from firth.report.scene import Line, Role, Scene, Shape, Text, mark

_SIZES = (620.0, 820.0, 1040.0, 1300.0)  # of the panel: the first with room for 95 of 100 labels, or the last
_LEFT, _RIGHT, _BELOW = 74.0, 28.0, 58.0  # around the panel: the numbers; half a label; numbers and the axis' name
_LETTERS, _RADIUS, _LONGEST = 12.0, 3.5, 160.0
LOOKS: dict[str, tuple[Role, str]] = {
    "a": ("group 1", "circle"),
    "b": ("group 2", "triangle"),
    "both": ("soft", "square"),
}


class Point(NamedTuple):
    """A word: its probabilities with the first and the second prompt, and whose it is (of LOOKS)."""

    text: str
    a: float
    b: float
    side: str


def scatter(a: str, b: str, points: Sequence[Point], note: str) -> Figure:
    """The words on logarithmic axes; on the diagonal are those that are equally probable with both prompts.

    Earlier points choose their labels' places first.
    """
    for size in _SIZES:
        drawn = _Drawing(a, b, points, size)
        if drawn.labels.count(None) <= len(points) // 100 * 5:
            break
    return drawn.figure(note)


class _Drawing:
    """The words on paper of one size."""

    def __init__(self, a: str, b: str, points: Sequence[Point], size: float) -> None:
        self.points, self.names, self.width = points, (_line(a), _line(b)), _LEFT + size + _RIGHT
        self.head, top = self._head()
        axes = _axes(points, self.names, size)
        self.panel = Panel(Box(_LEFT, top, _LEFT + size, top + size), *axes, self._short(f"p with “{self.names[1]}”"))
        low, high = axes[0].low, axes[0].high
        self.diagonal = self.panel.at(low, low), self.panel.at(high, high)
        self.at = [self.panel.at(max(point.a, low), max(point.b, low)) for point in points]
        self.labels = self._labels()

    def _short(self, text: str) -> str:
        return shortened(text, _LETTERS, self.width - _LEFT - _RIGHT)

    def _head(self) -> tuple[list[Shape], float]:
        """The title and what the marks mean, a line each; and where the panel begins."""
        title = f"“{self.names[0]}” and “{self.names[1]}”"
        shapes: list[Shape] = [Text(20.0, 30.0, shortened(title, 16.0, self.width - 40.0), 16.0, weight="bold")]
        said = {"a": f"with “{self.names[0]}”", "b": f"with “{self.names[1]}”"}
        y = 54.0
        for side, (colour, kind) in LOOKS.items():
            about = f"at least twice as probable {said[side]}" if side in said else "less than twice as probable"
            text = shortened(about, 12.0, self.width - 60.0)
            shapes += [mark(25.0, y - 4.0, 4.5, colour, kind), Text(35.0, y, text, 12.0)]
            y += 18.0
        return shapes, y + 26.0

    def _labels(self) -> list[Label | None]:
        each = zip(self.points, self.at, strict=True)
        reach = {"circle": _RADIUS, "triangle": 1.4 * _RADIUS, "square": 1.25 * _RADIUS}
        anchors = [
            Anchor(*at, reach[LOOKS[point.side][1]], shortened(_line(point.text), _LETTERS, _LONGEST))
            for point, at in each
        ]
        box = self.panel.box
        area = Box(box.left + 2.0, box.top + 2.0, self.width - 4.0, box.bottom - 2.0)
        return place(anchors, area, _LETTERS, [(*self.diagonal[0], *self.diagonal[1])])

    def figure(self, note: str) -> Figure:
        """The picture."""
        dropped = sum(label is None for label in self.labels)
        lost = f" {dropped:,} label{'s have' if dropped > 1 else ' has'} no room." if dropped else ""
        bottom = self.panel.box.bottom + _BELOW
        lines = wrapped(note + lost, 11.0, self.width - 40.0)
        foot = [Text(20.0, bottom + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(lines)]
        shapes = (*self.head, *self.panel.frame(), Line(self.diagonal, "soft", 0.8), *self._words(), *foot)
        title = f"{self.names[0]} | {self.names[1]}"
        scene = Scene(self.width, bottom + 15.0 * len(lines) + 4.0, title, shapes)
        rows = tuple(_row(point, label) for point, label in zip(self.points, self.labels, strict=True))
        return Figure(scene, note + lost, rows, dropped)

    def _words(self) -> list[Shape]:
        leaders, marks, texts = [], [], []
        for point, at, label in zip(self.points, self.at, self.labels, strict=True):
            colour, kind = LOOKS[point.side]
            about = f"{_line(point.text)}: {point.a:.3g} and {point.b:.3g}"
            marks.append(mark(*at, _RADIUS, colour, kind, about))
            if label:
                ink = "ink" if point.side == "both" else colour
                texts.append(Text(label.x, label.y, label.text, _LETTERS, ink, label.align, about=about))
                leaders += [Line((label.leader[:2], label.leader[2:]), "soft", 0.6)] if label.leader else []
        return [*leaders, *marks, *texts]


def _axes(points: Sequence[Point], names: Sequence[str], size: float) -> tuple[Axis, Axis]:
    """Two axes of the same length and ends, with a margin; what is impossible stands at their lower end."""
    possible = [chance for point in points for chance in point[1:3] if chance > 0]
    low, high = math.log(min(possible)), math.log(max(possible))
    margin = 0.05 * (high - low) or 1.0
    ends = math.exp(low - margin), math.exp(high + margin)
    name = shortened(f"p with “{names[0]}”", 11.0, size)
    return Axis(*ends, name, log=True), Axis(*ends, "", log=True)


def _row(point: Point, label: Label | None) -> dict[str, Any]:
    return {"word": point.text, "log p with a": _log(point.a), "log p with b": _log(point.b),
            "side": point.side, "labelled": label is not None}  # fmt: skip


def _log(chance: float) -> float | None:
    return math.log(chance) if chance > 0 else None


def _line(text: str) -> str:
    return " ".join(text.split())
