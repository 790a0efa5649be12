"""Figures: scatter plots with labels, their layout, and the files (SVG, HTML, PNG) they are saved as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.report.drawing import ColourName, Drawing, Line, Shape, Text, to_svg
from firth.report.label_layout import Anchor, Box, Label, truncate_text, wrap_text
from firth.report.legend import Entry, legend
from firth.report.page import figure, format_cell, html_page, table
from firth.report.palette import Theme
from firth.report.png import to_png, unsupported_texts
from firth.runs import atomic_files

_WIDTHS = (960.0, 1200.0, 1500.0, 1900.0)  # of the figure: the first with enough room for labels, else the last
_MANY_POINTS = 150  # points from which on labels and markers are smaller
_MARGIN, _LABEL_MARGIN = 20.0, 56.0  # around the figure; left and right of the points, for labels
_MAX_LABEL_WIDTH = 180.0  # longer labels are truncated
_STYLE = "body { max-width: 68rem; } summary { color: var(--soft); margin-top: 1rem; }"


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption and its data."""

    drawing: Drawing
    caption: str  # below it: how it was made and how to read it
    rows: tuple[dict[str, Any], ...]  # the data, for the table of the HTML page
    dropped_labels: int  # labels that did not fit
    fixed_size: bool = False  # on a page it keeps its size, and scrolls if it is too wide

    @property
    def title(self) -> str:
        """The title of the drawing."""
        return self.drawing.title

    def svg(self) -> str:
        """Render as an SVG document, with tooltips."""
        return to_svg(self.drawing)

    def html(self) -> str:
        """Render as a self-contained HTML page with the figure and its data, without script."""
        body = f"{self.html_fragment()}<details><summary>Values</summary>{_table(self.rows)}"
        return html_page(self.title, [body, "</details>"], _STYLE)

    def html_fragment(self) -> str:
        """Render as HTML for embedding in another page."""
        return figure(to_svg(self.drawing, self.fixed_size))

    def png(self, theme: Theme = "light", scale: int = 2) -> bytes:
        """Render as the bytes of a PNG file (needs the extra `images`)."""
        return to_png(self.drawing, theme, scale)

    def save(self, path: str | Path) -> list[str]:
        """Write a file in the format of its extension; return messages about text that could not be drawn."""
        path, format_ = Path(path), figure_format(path)
        content = _FORMATS[format_](self)
        atomic_files.replace_file(path, content if isinstance(content, bytes) else content.encode())
        return self._missing_glyphs() if format_ == ".png" else []

    def _missing_glyphs(self) -> list[str]:
        unsupported = unsupported_texts(shape.text for shape in self.drawing.shapes if isinstance(shape, Text))
        if not unsupported:
            return []
        examples = ", ".join(unsupported[:5]) + (", …" if len(unsupported) > 5 else "")
        have = "text has" if len(unsupported) == 1 else "texts have"
        what = f"{len(unsupported)} {have} characters that no installed font has for PNG ({examples})"
        return [f"{what}; save it as .svg or .html"]


_FORMATS: dict[str, Callable[[Figure], str | bytes]] = {".svg": Figure.svg, ".html": Figure.html, ".png": Figure.png}


def figure_format(path: str | Path) -> str:
    """The format of a figure file by its extension; an unknown one is an error."""
    extension = Path(path).suffix.lower()
    if extension not in _FORMATS:
        do = f"name it {', '.join(f'…{known}' for known in _FORMATS)}"
        raise FirthError(f"unknown figure format {extension!r}", where=path, do=do)
    return extension


class FigureLayout:
    """The layout of a scatter plot: title and legend above, the points in the middle, the caption below."""

    def __init__(
        self, title: str, caption: str, points: np.ndarray, groups: Mapping[str, tuple[ColourName, str]], width: float
    ) -> None:
        self.title, self.caption, self.width = title, caption, width
        self.size, self.radius = (12.0, 3.5) if len(points) <= _MANY_POINTS else (11.0, 3.0)
        inner_width = width - 2 * _MARGIN
        self.head: list[Shape] = [Text(_MARGIN, 30.0, truncate_text(title, 16.0, inner_width), 16.0, weight="bold")]
        entries = [Entry(name, *style) for name, style in groups.items()]
        shapes, last = legend(entries, _MARGIN, 54.0, width - _MARGIN)
        self.head += shapes
        top = (last if entries else 34.0) + 12.0
        plot_height = self._fit(points, inner_width, top)
        self.area = Box(_MARGIN, top, self.width - _MARGIN, top + plot_height)
        self.height = top + plot_height + 16.0

    def _fit(self, points: np.ndarray, inner_width: float, top: float) -> float:
        """Set `positions`, the points in pixels with equal axis scales; return the height they take with labels."""
        low, high = points.min(0), points.max(0)
        extent = np.maximum(high - low, 1e-9 * (np.abs(points).max() or 1.0))
        plot_width = inner_width - 2 * _LABEL_MARGIN
        plot_height = float(np.clip(plot_width * extent[1] / extent[0], 0.45 * plot_width, 0.85 * plot_width))
        scale = min(plot_width / extent[0], plot_height / extent[1]) if (high > low).any() else 0.0
        middle = np.array([_MARGIN + inner_width / 2, top + self.size * 1.5 + plot_height / 2])
        self.positions = [(float(x), float(y)) for x, y in middle + (points - (low + high) / 2) * (scale, -scale)]
        return plot_height + 3 * self.size

    def anchor(self, position: tuple[float, float], text: str, shape: str = "circle") -> Anchor:
        """The anchor of a point's label."""
        radius = self.radius if shape == "circle" else 1.4 * self.radius
        return Anchor(*position, radius, truncate_text(text, self.size, _MAX_LABEL_WIDTH))

    def figure(
        self,
        shapes: Sequence[Shape],
        labels: Sequence[Label | None],
        styles: Iterable[tuple[ColourName, str]],
        rows: Sequence[dict[str, Any]],
    ) -> Figure:
        """Assemble the figure; `styles` has each label's colour and tooltip."""
        dropped = sum(label is None for label in labels)
        dropped_note = f" {dropped:,} label{'s have' if dropped > 1 else ' has'} no room." if dropped else ""
        lines = wrap_text(self.caption + dropped_note, 11.0, self.width - 2 * _MARGIN)
        foot = [Text(_MARGIN, self.height + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(lines)]
        visible = [(label, style) for label, style in zip(labels, styles, strict=True) if label]
        leaders = [
            Line((placed_label.leader[:2], placed_label.leader[2:]), "soft", 0.6)
            for placed_label, _ in visible
            if placed_label.leader
        ]
        texts = [
            Text(
                placed_label.x,
                placed_label.y,
                placed_label.text,
                self.size,
                style[0],
                placed_label.align,
                tooltip=style[1],
            )
            for placed_label, style in visible
        ]
        all_shapes = (*self.head, *leaders, *shapes, *texts, *foot)
        drawing = Drawing(self.width, self.height + 15.0 * len(lines) + 4.0, self.title, all_shapes)
        return Figure(drawing, self.caption + dropped_note, tuple(rows), dropped)


def arrange_points(
    title: str,
    caption: str,
    points: np.ndarray,
    groups: Mapping[str, tuple[ColourName, str]],
    place: Callable[[FigureLayout], list[Label | None]],
) -> tuple[FigureLayout, list[Label | None]]:
    """Lay out the points at the smallest width where all labels (of many, 95 %) fit, or at the largest."""
    min_width = min(60.0 * len(points) ** 0.5, _WIDTHS[-1])  # smaller ones cannot fit
    for width in (width for width in _WIDTHS if width >= min_width):
        layout = FigureLayout(title, caption, points, groups, width)
        labels = place(layout)
        if labels.count(None) <= len(points) // 100 * 5:
            break
    return layout, labels


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    texts = [column for column, name in enumerate(names) if not all(_is_number(row[name]) for row in rows)]
    return table(names, ([escape(format_cell(value)) for value in row.values()] for row in rows), texts=texts)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
