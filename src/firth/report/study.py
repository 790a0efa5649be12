"""The figure of a study: accuracy on analogies by width, by window and by the size of the corpus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Real
from typing import Any, NamedTuple

from firth.errors import FirthError
from firth.report.labels import text_width
from firth.report.page import sheet
from firth.report.scene import Dot, Line, Scene, Shape, Text, to_svg
from firth.report.svg import ticks

SETTINGS = ("width", "window", "side", "words")  # words: of the corpus
SCORES = {"semantic": "group 1", "syntactic": "group 2", "total": "group 3"}
_SIDES = {"both": "symmetric", "left": "left side only", "right": "right side only"}
_NAMES = {"width": "width of the vectors", "window": "window", "words": "words of the corpus"}
_WIDE, _HIGH = 460.0, 300.0  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 18.0, 34.0, 44.0  # of its plot
_HEAD, _COLUMNS = 58.0, 2
_STYLE = """
body { max-width: 68rem; } th { text-align: left; font-weight: 600; padding: .25rem .75rem .25rem 0; }
td:first-child { color: var(--ink); } .number { text-align: right; } p { color: var(--soft); }
"""


class Panel(NamedTuple):
    """Scores against one setting; the others are fixed."""

    axis: str
    fixed: dict[str, Any]
    points: dict[float, dict[str, float]]  # what each value of the setting scores

    def line(self, score: str) -> list[tuple[float, float]]:
        """The points of a score, from left to right."""
        return [(x, self.points[x][score]) for x in sorted(self.points) if score in self.points[x]]


def study_figure(rows: Iterable[Mapping[str, Any]], title: str = "What makes good vectors?") -> str:
    """A page of panels from rows with width, window, side, words and the shares semantic, syntactic and total.

    In a panel only what its axis says changes. Of all ways to fix the rest it shows the one with most points, and of
    those the one with most words, widest vectors and largest window. Rows with equal settings are averaged.
    """
    rows = [dict(row) for row in rows]
    _check(rows)
    scene = _drawn(title, panels(rows))
    note = "In each panel all but its axis is fixed, as its title says. Rows with equal settings are averaged."
    return sheet(title, [to_svg(scene), f"<p>{note}</p>", _table(rows)], _STYLE)


def panels(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """By width, by window for each side, by words; those with one point only are left out if any has more."""
    sides = sorted({str(row["side"]) for row in rows}, key=lambda side: (side not in ("both", "symmetric"), side))
    found = [
        _panel(rows, "width"),
        *(_panel([row for row in rows if str(row["side"]) == side], "window") for side in sides),
    ]
    found.append(_panel(rows, "words"))
    return [panel for panel in found if len(panel.points) > 1] or found[:1]


def _panel(rows: Sequence[Mapping[str, Any]], axis: str) -> Panel:
    others = [name for name in SETTINGS if name != axis]
    slices: dict[tuple, list[Mapping[str, Any]]] = {}
    for row in rows:
        slices.setdefault(tuple(row[name] for name in others), []).append(row)

    def rank(key: tuple) -> tuple:
        at = dict(zip(others, key, strict=True))
        several = len({row[axis] for row in slices[key]})
        return (
            several,
            at.get("side") in ("both", "symmetric"),
            at.get("words", 0),
            at.get("width", 0),
            at.get("window", 0),
        )

    best = max(slices, key=rank)
    points = {x: _mean([row for row in slices[best] if row[axis] == x]) for x in {row[axis] for row in slices[best]}}
    return Panel(axis, dict(zip(others, best, strict=True)), points)


def _mean(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of each score over the rows that have it."""
    known = {score: [float(row[score]) for row in rows if row[score] is not None] for score in SCORES}
    return {score: sum(values) / len(values) for score, values in known.items() if values}


def _check(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        raise FirthError("a study without rows", do="train and evaluate at least one setting")
    for number, row in enumerate(rows, 1):
        missing = [key for key in (*SETTINGS, *SCORES) if key not in row]
        if missing:
            raise FirthError(f"row {number} of the study has no {missing[0]!r}", do=f"it has: {', '.join(row)}")
        for key in ("width", "window", "words", *SCORES):
            value, score = row[key], key in SCORES
            if value is None and score:
                continue
            if not isinstance(value, Real) or not (0 <= value <= 1 if score else 0 < value < math.inf):
                do = "give a share from 0 to 1, or none" if score else "give a number above 0"
                raise FirthError(f"row {number} of the study has {value!r} as {key!r}", do=do)


# --- drawing ---


def _drawn(title: str, shown: Sequence[Panel]) -> Scene:
    """Panels in two columns, all with the same accuracies on their upright axis."""
    values = [value for panel in shown for scores in panel.points.values() for value in scores.values()]
    high = max((*values, 0.01)) * 1.08
    shapes: list[Shape] = [Text(16.0, 28.0, title, 16.0, weight="bold"), *_legend()]
    for number, panel in enumerate(shown):
        left, top = number % _COLUMNS * _WIDE, _HEAD + number // _COLUMNS * _HIGH
        shapes += _plot(panel, left, top, high)
    lines = -(-len(shown) // _COLUMNS)
    return Scene(_WIDE * _COLUMNS, _HEAD + _HIGH * lines, title, tuple(shapes))


def _legend() -> list[Shape]:
    shapes, x = [], 16.0
    for score, colour in SCORES.items():
        shapes += [Line(((x, 46.0), (x + 18.0, 46.0)), colour, 2.0), Text(x + 23.0, 50.0, score)]
        x += 23.0 + text_width(score, 12.0) + 18.0
    return shapes


def _plot(panel: Panel, left: float, top: float, high: float) -> list[Shape]:
    spread = _Spread(sorted(panel.points), left + _LEFT + 10.0, left + _WIDE - _RIGHT - 10.0)
    low_edge = top + _HIGH - _BOTTOM

    def up(value: float) -> float:
        return low_edge - value / high * (low_edge - top - _TOP)

    shapes: list[Shape] = [Text(left + _LEFT, top + 16.0, _titled(panel), 12.0, weight="bold")]
    for value in ticks(0.0, high, 7):
        shapes.append(Line(((left + _LEFT, up(value)), (left + _WIDE - _RIGHT, up(value))), "line", 0.7))
        shapes.append(Text(left + _LEFT - 6.0, up(value) + 4.0, f"{100 * value:g}%", 11.0, "soft", "end"))
    for value, x in spread.named():
        shapes.append(Text(x, low_edge + 16.0, _short(value), 11.0, "soft", "middle"))
    shapes.append(Text(left + (_LEFT + _WIDE) / 2, low_edge + 34.0, _NAMES[panel.axis], 11.0, "soft", "middle"))
    for score, colour in SCORES.items():
        points = [(spread.at(x), up(y)) for x, y in panel.line(score)]
        shapes += [Line(tuple(points), colour, 1.8)] if len(points) > 1 else []
        abouts = (f"{score} {y:.1%} at {_short(x)}" for x, y in panel.line(score))
        shapes += [Dot(x, y, 3.0, colour, about) for (x, y), about in zip(points, abouts, strict=True)]
    return shapes


class _Spread:
    """Values along an axis: far ones (100 thousand to a billion words) by their logarithms."""

    def __init__(self, values: Sequence[float], start: float, stop: float) -> None:
        self.values, self.start, self.stop = values, start, stop
        self.log = values[-1] >= 10 * values[0]

    def at(self, value: float) -> float:
        low, high, value = (math.log(v) if self.log else v for v in (self.values[0], self.values[-1], value))
        return (
            (self.start + self.stop) / 2
            if high == low
            else self.start + (value - low) / (high - low) * (self.stop - self.start)
        )

    def named(self) -> list[tuple[float, float]]:
        """The values that are written below the axis: those of the study, as long as there is room between them."""
        found: list[tuple[float, float]] = []
        for value in self.values:
            x = self.at(value)
            if (
                not found
                or x - found[-1][1]
                >= (text_width(_short(value), 11.0) + text_width(_short(found[-1][0]), 11.0)) / 2 + 4
            ):
                found.append((value, x))
        return found


def _titled(panel: Panel) -> str:
    fixed = panel.fixed
    parts = {
        "width": f"width {fixed.get('width')}",
        "window": f"window {fixed.get('window')}",
        "side": _SIDES.get(str(fixed.get("side")), str(fixed.get("side"))),
        "words": f"{_short(fixed.get('words', 0))} words",
    }
    return ", ".join(text for name, text in parts.items() if name in fixed)


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= 0.9995 * size:  # what would be rounded up to it
            return f"{value / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{value:g}"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th{_number(key)}>{key}</th>" for key in (*SETTINGS, *SCORES))
    lines = []
    for row in rows:
        settings = "".join(f"<td{_number(key)}>{escape(_setting(row[key]))}</td>" for key in SETTINGS)
        scores = "".join(f"<td{_number(key)}>{'n/a' if row[key] is None else f'{row[key]:.1%}'}</td>" for key in SCORES)
        lines.append(f"<tr>{settings}{scores}</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _number(key: str) -> str:
    return "" if key == "side" else ' class="number"'


def _setting(value: Any) -> str:
    return f"{value:,}" if isinstance(value, Real) else _SIDES.get(str(value), str(value))
