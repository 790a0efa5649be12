"""The figure of a hyperparameter study: analogy accuracy by vector width, window size and corpus size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Real
from typing import Any, NamedTuple

from firth.errors import FirthError
from firth.report.axes import format_number, ticks
from firth.report.drawing import Circle, Drawing, Line, Shape, Text, to_svg
from firth.report.label_layout import text_width, truncate_text
from firth.report.legend import Entry, legend
from firth.report.page import figure, html_page, table

SETTINGS = ("width", "window", "side", "words")  # words: of the corpus
SCORES = {"semantic": "group 1", "syntactic": "group 2", "total": "group 3"}
_SIDES = {"symmetric": "symmetric", "left": "left context only", "right": "right context only"}
_AXIS_LABELS = {"width": "vector width", "window": "window size", "words": "corpus size (words)"}
_PANEL_WIDTH, _PANEL_HEIGHT = 460.0, 300.0  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 18.0, 34.0, 44.0  # of its plot
_HEAD, _COLUMNS = 58.0, 2
_STYLE = "body { max-width: 68rem; } .scroll svg { min-width: 48rem; }"


class Panel(NamedTuple):
    """Scores against one hyperparameter; the others are fixed."""

    axis: str
    fixed: dict[str, Any]
    points: dict[float, dict[str, float]]  # the scores of each value of the hyperparameter

    def line(self, score: str) -> list[tuple[float, float]]:
        """The points of one score, sorted by the hyperparameter."""
        return [(x, self.points[x][score]) for x in sorted(self.points) if score in self.points[x]]


def study_figure(rows: Iterable[Mapping[str, Any]], title: str = "What makes good vectors?") -> str:
    """A page of panels from rows with width, window, side, words and the accuracies semantic, syntactic and total.

    In a panel only the hyperparameter of its x axis varies. Of all ways to fix the others it shows the one with most
    points, and of those the one with most words, widest vectors and largest window. Equal settings are averaged.
    """
    rows = [dict(row) for row in rows]
    _validate(rows)
    drawing = _draw(title, panels(rows))
    note = "In each panel only the x axis varies; the title has the fixed settings. Equal settings are averaged."
    return html_page(title, [figure(to_svg(drawing), note), _table(rows)], _STYLE)


def panels(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Panels by width, by window for each side, and by words; those with one point are dropped if any has more."""
    sides = sorted({str(row["side"]) for row in rows}, key=lambda side: (side != "symmetric", side))
    all_panels = [
        _panel(rows, "width"),
        *(_panel([row for row in rows if str(row["side"]) == side], "window") for side in sides),
    ]
    all_panels.append(_panel(rows, "words"))
    return [panel for panel in all_panels if len(panel.points) > 1] or all_panels[:1]


def _panel(rows: Sequence[Mapping[str, Any]], axis: str) -> Panel:
    others = [name for name in SETTINGS if name != axis]
    slices: dict[tuple, list[Mapping[str, Any]]] = {}
    for row in rows:
        slices.setdefault(tuple(row[name] for name in others), []).append(row)

    def rank(key: tuple) -> tuple:
        settings = dict(zip(others, key, strict=True))
        num_points = len({row[axis] for row in slices[key]})
        return (
            num_points,
            settings.get("side") == "symmetric",
            settings.get("words", 0),
            settings.get("width", 0),
            settings.get("window", 0),
        )

    best = max(slices, key=rank)
    points = {x: _mean([row for row in slices[best] if row[axis] == x]) for x in {row[axis] for row in slices[best]}}
    return Panel(axis, dict(zip(others, best, strict=True)), points)


def _mean(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean of each score over the rows that have it."""
    known = {score: [float(row[score]) for row in rows if row[score] is not None] for score in SCORES}
    return {score: sum(values) / len(values) for score, values in known.items() if values}


def _validate(rows: Sequence[Mapping[str, Any]]) -> None:
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
                do = "give an accuracy from 0 to 1, or none" if score else "give a number above 0"
                raise FirthError(f"row {number} of the study has {value!r} as {key!r}", do=do)


# --- drawing ---


def _draw(title: str, shown: Sequence[Panel]) -> Drawing:
    """Draw the panels in two columns, all with the same y axis."""
    values = [value for panel in shown for scores in panel.points.values() for value in scores.values()]
    high = max((*values, 0.01)) * 1.08
    width = _PANEL_WIDTH * _COLUMNS
    entries = [Entry(score, colour) for score, colour in SCORES.items()]
    shapes: list[Shape] = [
        Text(16.0, 28.0, truncate_text(title, 16.0, width - 32.0), 16.0, weight="bold"),
        *legend(entries, 16.0, 50.0, width)[0],
    ]
    for number, panel in enumerate(shown):
        left, top = number % _COLUMNS * _PANEL_WIDTH, _HEAD + number // _COLUMNS * _PANEL_HEIGHT
        shapes += _plot(panel, left, top, high)
    lines = -(-len(shown) // _COLUMNS)
    return Drawing(width, _HEAD + _PANEL_HEIGHT * lines, title, tuple(shapes))


def _plot(panel: Panel, left: float, top: float, high: float) -> list[Shape]:
    x_axis = _XAxis(sorted(panel.points), left + _LEFT + 10.0, left + _PANEL_WIDTH - _RIGHT - 10.0)
    bottom = top + _PANEL_HEIGHT - _BOTTOM

    def to_y(value: float) -> float:
        return bottom - value / high * (bottom - top - _TOP)

    shapes: list[Shape] = [Text(left + _LEFT, top + 16.0, _panel_title(panel), 12.0, weight="bold")]
    for value in ticks(0.0, high, 7):
        shapes.append(Line(((left + _LEFT, to_y(value)), (left + _PANEL_WIDTH - _RIGHT, to_y(value))), "line", 0.7))
        shapes.append(Text(left + _LEFT - 6.0, to_y(value) + 4.0, f"{100 * value:g}%", 11.0, "soft", "end"))
    for value, x in x_axis.ticks():
        shapes.append(Text(x, bottom + 16.0, format_number(value), 11.0, "soft", "middle"))
    shapes.append(
        Text(left + (_LEFT + _PANEL_WIDTH) / 2, bottom + 34.0, _AXIS_LABELS[panel.axis], 11.0, "soft", "middle")
    )
    for score, colour in SCORES.items():
        points = [(x_axis.at(x), to_y(y)) for x, y in panel.line(score)]
        shapes += [Line(tuple(points), colour, 1.8)] if len(points) > 1 else []
        tooltips = (f"{score} {y:.1%} at {format_number(x)}" for x, y in panel.line(score))
        shapes += [Circle(x, y, 3.0, colour, tooltip) for (x, y), tooltip in zip(points, tooltips, strict=True)]
    return shapes


class _XAxis:
    """The x axis of a panel: logarithmic if its values span a factor of ten or more."""

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

    def ticks(self) -> list[tuple[float, float]]:
        """Ticks (value, x): the values of the study, as far as their labels fit."""
        selected: list[tuple[float, float]] = []
        for value in self.values:
            x = self.at(value)
            if (
                not selected
                or x - selected[-1][1]
                >= (text_width(format_number(value), 11.0) + text_width(format_number(selected[-1][0]), 11.0)) / 2 + 4
            ):
                selected.append((value, x))
        return selected


def _panel_title(panel: Panel) -> str:
    fixed = panel.fixed
    parts = {
        "width": f"width {fixed.get('width')}",
        "window": f"window {fixed.get('window')}",
        "side": _SIDES.get(str(fixed.get("side")), str(fixed.get("side"))),
        "words": f"{format_number(fixed.get('words', 0))} words",
    }
    return ", ".join(text for name, text in parts.items() if name in fixed)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = (
        [escape(_format_setting(row[key])) for key in SETTINGS]
        + ["n/a" if row[key] is None else f"{row[key]:.1%}" for key in SCORES]
        for row in rows
    )
    return table((*SETTINGS, *SCORES), lines, texts=(SETTINGS.index("side"),))


def _format_setting(value: Any) -> str:
    return f"{value:,}" if isinstance(value, Real) else _SIDES.get(str(value), str(value))
