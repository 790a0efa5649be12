"""How far each written word goes back to each word that was read, as a picture: SVG, HTML or PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.report.figure import Figure
from firth.report.labels import HEIGHT, shortened, text_width, wrapped
from firth.report.scene import Area, Line, Point, Role, Scene, Shape, Text

_SIDE = 760.0  # of the grid, if its cells may be as large or small as that needs
_CELL = (16.0, 36.0)  # the smallest and the largest
_TURN = 45.0  # of the labels of columns, upwards
_LETTERS = 12.0
_FIT = math.sin(math.radians(_TURN)) / HEIGHT  # letters for each unit of a cell: turned lines stand so far apart
_LONGEST = 140.0  # a longer label is shortened
_MARGIN, _GAP = 20.0, 6.0
_LEAST = 0.005  # a smaller value is not drawn
_SCALE = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHADE: Role = "group 1"
_GOLD: Role = "group 2"


class Link(NamedTuple):
    """A gold link: this written word belongs to that word read. Links that are only possible are drawn thinner."""

    written: int
    read: int
    sure: bool = True


def heatmap(
    written: Sequence[str],
    read: Sequence[str],
    values: Sequence[Sequence[float]] | np.ndarray,
    title: str = "Alignment",
    note: str = "",
    gold: Sequence[Link] = (),
) -> Figure:
    """A row for each word written, a column for each word read; the stronger the colour, the nearer a value to 1."""
    grid = _checked(written, read, values, gold)
    drawn = _Drawing([*map(_visible, written)], [*map(_visible, read)], grid)
    shapes = [*drawn.cells(), *drawn.lines(), *drawn.links(gold), *drawn.words()]
    width = max(drawn.right, 360.0)
    y = drawn.bottom + 30.0
    shapes += _legend(_MARGIN, y, bool(gold), any(not link.sure for link in gold))
    notes = wrapped(note, 11.0, width - 2 * _MARGIN)
    shapes += [Text(_MARGIN, y + 40.0 + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(notes)]
    shapes.insert(0, Text(_MARGIN, 30.0, shortened(title, 16.0, width - 2 * _MARGIN), 16.0, weight="bold"))
    scene = Scene(width, y + 34.0 + 15.0 * len(notes), title, tuple(shapes))
    return Figure(scene, note, tuple(_rows(written, read, grid, gold)), 0, own_size=True)


def _checked(
    written: Sequence[str], read: Sequence[str], values: Sequence[Sequence[float]] | np.ndarray, gold: Sequence[Link]
) -> np.ndarray:
    grid = np.asarray(values, np.float64)
    if grid.shape != (len(written), len(read)) or not grid.size:
        shape = " × ".join(map(str, grid.shape))
        raise FirthError(f"values of {shape} for {len(written)} words written and {len(read)} read")
    if not ((grid > -1e-4) & (grid < 1 + 1e-4)).all():  # NaN is neither
        raise FirthError("a value that is not between 0 and 1", do="give shares of attention or probabilities of links")
    for link in gold:
        if not (0 <= link.written < len(written) and 0 <= link.read < len(read)):
            raise FirthError(f"the gold link {link.written}-{link.read} is outside", do="count words from 0")
    return grid.clip(0, 1)


class _Drawing:
    """Where everything stands."""

    def __init__(self, written: Sequence[str], read: Sequence[str], grid: np.ndarray) -> None:
        self.grid, self.full = grid, (written, read)
        low, high = _CELL
        self.cell = min(high, max(low, _SIDE / max(grid.shape)))
        self.size = min(_LETTERS, self.cell * _FIT)
        self.written, self.read = ([shortened(word, self.size, _LONGEST) for word in words] for words in self.full)
        reach = [text_width(word, self.size) for word in self.read]
        slant = math.cos(math.radians(_TURN))
        self.left = _MARGIN + max(text_width(word, self.size) for word in self.written) + _GAP
        self.top = 50.0 + max(reach) * slant + self.size + _GAP
        ends = (self.left + (place + 0.6) * self.cell + (far + self.size) * slant for place, far in enumerate(reach))
        self.right = max(self.left + grid.shape[1] * self.cell, *ends, 0.0) + _MARGIN
        self.bottom = self.top + grid.shape[0] * self.cell

    def cells(self) -> list[Shape]:
        """A square for each value, whose words are named when one points at it."""
        found: list[Shape] = []
        for row, column in np.argwhere(self.grid >= _LEAST):
            value = float(self.grid[row, column])
            about = f"{self.full[0][row]} ← {self.full[1][column]}: {value:.2f}"
            found.append(Area(self._corners(row, column), _SHADE, about, value))
        return found

    def lines(self) -> list[Shape]:
        """The grid."""
        right, bottom = self.left + self.grid.shape[1] * self.cell, self.bottom
        down = [self.left + place * self.cell for place in range(self.grid.shape[1] + 1)]
        across = [self.top + place * self.cell for place in range(self.grid.shape[0] + 1)]
        found = [Line(((x, self.top), (x, bottom)), "line", 0.5) for x in down]
        return [*found, *(Line(((self.left, y), (right, y)), "line", 0.5) for y in across)]

    def links(self, gold: Sequence[Link]) -> list[Shape]:
        """Gold links as outlines within their cells."""
        return [_outline(self._corners(link.written, link.read, 2.0), link.sure) for link in gold]

    def words(self) -> list[Shape]:
        """The words written at the left, those read above, turned."""
        middle = 0.35 * self.size  # of small letters, above the baseline
        found: list[Shape] = []
        for place, (word, full) in enumerate(zip(self.written, self.full[0], strict=True)):
            y = self.top + (place + 0.5) * self.cell + middle
            found.append(Text(self.left - _GAP, y, word, self.size, align="end", about=full if full != word else ""))
        for place, (word, full) in enumerate(zip(self.read, self.full[1], strict=True)):
            x = self.left + (place + 0.5) * self.cell + middle
            about = full if full != word else ""
            found.append(Text(x, self.top - _GAP, word, self.size, about=about, turn=-_TURN))
        return found

    def _corners(self, row: int, column: int, inset: float = 0.0) -> tuple[Point, ...]:
        left, top = self.left + column * self.cell + inset, self.top + row * self.cell + inset
        right, bottom = left + self.cell - 2 * inset, top + self.cell - 2 * inset
        return (left, top), (right, top), (right, bottom), (left, bottom)


def _outline(corners: tuple[Point, ...], sure: bool) -> Line:
    """A closed line; it goes on along its first side, so that its corner is whole."""
    return Line((*corners, *corners[:2]), _GOLD, 2.0 if sure else 0.9)


def _legend(x: float, y: float, gold: bool, possible: bool) -> list[Shape]:
    """What colours and outlines mean."""
    shapes: list[Shape] = []
    for value in _SCALE:
        corners = _square(x, y)
        shapes += [Area(corners, _SHADE, "", value), Line((*corners, corners[0]), "line", 0.5)]
        shapes.append(Text(x + 18.0, y + 10.0, f"{value:g}", 11.0, "soft"))
        x += 24.0 + text_width(f"{value:g}", 11.0) + 8.0
    for there, sure, text in ((gold, True, "gold"), (possible, False, "possible")):
        if there:
            shapes += [_outline(_square(x, y), sure), Text(x + 18.0, y + 10.0, text, 11.0, "soft")]
            x += 26.0 + text_width(text, 11.0)
    return shapes


def _square(x: float, y: float) -> tuple[Point, ...]:
    return (x, y), (x + 12.0, y), (x + 12.0, y + 12.0), (x, y + 12.0)


def _visible(word: str) -> str:
    """A word in one line; white space alone is shown as such."""
    return " ".join(word.split()) or "␣" * bool(word)


def _rows(written: Sequence[str], read: Sequence[str], grid: np.ndarray, gold: Sequence[Link]) -> list[dict[str, Any]]:
    """For each word written, the word it goes back to most, and those it should."""
    rows = []
    for place, word in enumerate(written):
        best = int(grid[place].argmax())
        row = {"written": word, "read": read[best], "value": float(grid[place, best])}
        right = " ".join(read[link.read] for link in gold if link.written == place)
        rows.append(row | ({"gold": right} if gold else {}))
    return rows
