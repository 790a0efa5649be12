"""Heat map of attention weights or alignment probabilities: target words by source words, with gold links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.report.drawing import ColourName, Drawing, Line, Point, Polygon, Shape, Text
from firth.report.figure import Figure
from firth.report.label_layout import LINE_HEIGHT, text_width, truncate_text, wrap_text

_GRID_SIZE = 760.0  # preferred size of the grid
_CELL_SIZES = (16.0, 36.0)  # smallest and largest cell size
_LABEL_ANGLE = 45.0  # degrees, of the column labels
_LABEL_SIZE = 12.0
_LABEL_FIT = (
    math.sin(math.radians(_LABEL_ANGLE)) / LINE_HEIGHT
)  # font size per cell size at which rotated labels do not overlap
_MAX_LABEL_WIDTH = 140.0  # longer labels are truncated
_MARGIN, _GAP = 20.0, 6.0
_MIN_VALUE = 0.005  # smaller values are not drawn
_LEGEND_VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)
_CELL_COLOUR: ColourName = "group 1"
_GOLD_COLOUR: ColourName = "group 2"


class Link(NamedTuple):
    """A gold alignment link between a target and a source position; possible (not sure) links are drawn thinner."""

    target: int
    source: int
    sure: bool = True


def heatmap(
    target: Sequence[str],
    source: Sequence[str],
    values: Sequence[Sequence[float]] | np.ndarray,
    title: str = "Alignment",
    caption: str = "",
    gold: Sequence[Link] = (),
) -> Figure:
    """Draw a heat map: a row per target word, a column per source word; a cell's opacity is its value in [0, 1]."""
    grid = _validate(target, source, values, gold)
    layout = _HeatmapLayout([*map(_visible_text, target)], [*map(_visible_text, source)], grid)
    shapes = [*layout.cells(), *layout.lines(), *layout.links(gold), *layout.labels()]
    width = max(layout.right, 360.0)
    y = layout.bottom + 30.0
    shapes += _legend(_MARGIN, y, bool(gold), any(not link.sure for link in gold))
    lines = wrap_text(caption, 11.0, width - 2 * _MARGIN)
    shapes += [Text(_MARGIN, y + 40.0 + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(lines)]
    shapes.insert(0, Text(_MARGIN, 30.0, truncate_text(title, 16.0, width - 2 * _MARGIN), 16.0, weight="bold"))
    drawing = Drawing(width, y + 34.0 + 15.0 * len(lines), title, tuple(shapes))
    return Figure(drawing, caption, tuple(_rows(target, source, grid, gold)), 0, fixed_size=True)


def _validate(
    target: Sequence[str], source: Sequence[str], values: Sequence[Sequence[float]] | np.ndarray, gold: Sequence[Link]
) -> np.ndarray:
    grid = np.asarray(values, np.float64)
    if grid.shape != (len(target), len(source)) or not grid.size:
        shape = " × ".join(map(str, grid.shape))
        what = f"values of {shape} for {len(target)} target and {len(source)} source words"
        raise FirthError(what, do="give a matrix of target by source words")
    if not ((grid > -1e-4) & (grid < 1 + 1e-4)).all():  # NaN is neither
        raise FirthError("a value is not between 0 and 1", do="give attention weights or alignment probabilities")
    for link in gold:
        if not (0 <= link.target < len(target) and 0 <= link.source < len(source)):
            raise FirthError(f"the gold link {link.target}-{link.source} is out of range", do="count words from 0")
    return grid.clip(0, 1)


class _HeatmapLayout:
    """The positions of cells and labels."""

    def __init__(self, target: Sequence[str], source: Sequence[str], grid: np.ndarray) -> None:
        self.grid, self.full = grid, (target, source)
        low, high = _CELL_SIZES
        self.cell = min(high, max(low, _GRID_SIZE / max(grid.shape)))
        self.size = min(_LABEL_SIZE, self.cell * _LABEL_FIT)
        self.target, self.source = (
            [truncate_text(word, self.size, _MAX_LABEL_WIDTH) for word in words] for words in self.full
        )
        widths = [text_width(word, self.size) for word in self.source]
        cosine = math.cos(math.radians(_LABEL_ANGLE))
        self.left = _MARGIN + max(text_width(word, self.size) for word in self.target) + _GAP
        self.top = 50.0 + max(widths) * cosine + self.size + _GAP
        ends = (
            self.left + (column + 0.6) * self.cell + (width + self.size) * cosine for column, width in enumerate(widths)
        )
        self.right = max(self.left + grid.shape[1] * self.cell, *ends, 0.0) + _MARGIN
        self.bottom = self.top + grid.shape[0] * self.cell

    def cells(self) -> list[Shape]:
        """A square for each value, with a tooltip."""
        cells: list[Shape] = []
        for row, column in np.argwhere(self.grid >= _MIN_VALUE):
            value = float(self.grid[row, column])
            tooltip = f"{self.full[0][row]} ← {self.full[1][column]}: {value:.2f}"
            cells.append(Polygon(self._corners(row, column), _CELL_COLOUR, tooltip, value))
        return cells

    def lines(self) -> list[Shape]:
        """The grid lines."""
        right, bottom = self.left + self.grid.shape[1] * self.cell, self.bottom
        xs = [self.left + index * self.cell for index in range(self.grid.shape[1] + 1)]
        ys = [self.top + index * self.cell for index in range(self.grid.shape[0] + 1)]
        vertical = [Line(((x, self.top), (x, bottom)), "line", 0.5) for x in xs]
        return [*vertical, *(Line(((self.left, y), (right, y)), "line", 0.5) for y in ys)]

    def links(self, gold: Sequence[Link]) -> list[Shape]:
        """Gold links as outlines within their cells."""
        return [_outline(self._corners(link.target, link.source, 2.0), link.sure) for link in gold]

    def labels(self) -> list[Shape]:
        """Row labels (target words) at the left, column labels (source words) above, rotated."""
        middle = 0.35 * self.size  # half the x-height, above the baseline
        labels: list[Shape] = []
        for index, (word, full) in enumerate(zip(self.target, self.full[0], strict=True)):
            y = self.top + (index + 0.5) * self.cell + middle
            labels.append(Text(self.left - _GAP, y, word, self.size, align="end", tooltip=full if full != word else ""))
        for index, (word, full) in enumerate(zip(self.source, self.full[1], strict=True)):
            x = self.left + (index + 0.5) * self.cell + middle
            tooltip = full if full != word else ""
            labels.append(Text(x, self.top - _GAP, word, self.size, tooltip=tooltip, rotation=-_LABEL_ANGLE))
        return labels

    def _corners(self, row: int, column: int, inset: float = 0.0) -> tuple[Point, ...]:
        left, top = self.left + column * self.cell + inset, self.top + row * self.cell + inset
        right, bottom = left + self.cell - 2 * inset, top + self.cell - 2 * inset
        return (left, top), (right, top), (right, bottom), (left, bottom)


def _outline(corners: tuple[Point, ...], sure: bool) -> Line:
    """A closed line; it overlaps its first side, so that the corner is closed."""
    return Line((*corners, *corners[:2]), _GOLD_COLOUR, 2.0 if sure else 0.9)


def _legend(x: float, y: float, gold: bool, possible: bool) -> list[Shape]:
    """The colour scale and the outlines of gold links."""
    shapes: list[Shape] = []
    for value in _LEGEND_VALUES:
        corners = _square(x, y)
        shapes += [Polygon(corners, _CELL_COLOUR, "", value), Line((*corners, corners[0]), "line", 0.5)]
        shapes.append(Text(x + 18.0, y + 10.0, f"{value:g}", 11.0, "soft"))
        x += 24.0 + text_width(f"{value:g}", 11.0) + 8.0
    for is_shown, sure, text in ((gold, True, "gold"), (possible, False, "possible")):
        if is_shown:
            shapes += [_outline(_square(x, y), sure), Text(x + 18.0, y + 10.0, text, 11.0, "soft")]
            x += 26.0 + text_width(text, 11.0)
    return shapes


def _square(x: float, y: float) -> tuple[Point, ...]:
    return (x, y), (x + 12.0, y), (x + 12.0, y + 12.0), (x, y + 12.0)


def _visible_text(word: str) -> str:
    """A word on one line; whitespace alone is shown as ␣."""
    return " ".join(word.split()) or "␣" * bool(word)


def _rows(target: Sequence[str], source: Sequence[str], grid: np.ndarray, gold: Sequence[Link]) -> list[dict[str, Any]]:
    """For each target word the source word of the highest value, and its gold source words."""
    rows = []
    for index, word in enumerate(target):
        best = int(grid[index].argmax())
        row = {"target": word, "source": source[best], "value": float(grid[index, best])}
        gold_words = " ".join(source[link.source] for link in gold if link.target == index)
        rows.append(row | ({"gold": gold_words} if gold else {}))
    return rows
