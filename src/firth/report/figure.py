"""Pictures of points with labels: where things stand on the paper, and the files they are saved as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.report.labels import Anchor, Box, Label, shortened, text_width, wrapped
from firth.report.page import sheet
from firth.report.raster import to_png, undrawable
from firth.report.scene import Line, Role, Scene, Shape, Text, Theme, mark, to_svg
from firth.runs import files

_WIDTHS = (960.0, 1200.0, 1500.0, 1900.0)  # of the paper: the first with enough room for labels, else the last
_MANY = 150  # words from which on letters and dots are smaller
_MARGIN, _SIDE = 20.0, 56.0  # around everything; and left and right of the points, for labels
_LONGEST = 180.0  # a longer label is shortened
_STYLE = """
body { max-width: 68rem; } .figure svg { min-width: 40rem; }
summary { color: var(--soft); cursor: pointer; margin-top: 1rem; } th { text-align: left; font-weight: 600; }
"""


@dataclass(frozen=True)
class Figure:
    """A picture, with what it says as values."""

    scene: Scene
    note: str  # stands under it: how it was made and what it can tell
    rows: tuple[dict[str, Any], ...]  # a map: word, x, y, group, labelled; arrows: from, to, cosine
    dropped: int  # labels without room
    own_size: bool = False  # on a page it keeps its size, and is moved aside where it is too wide

    @property
    def title(self) -> str:
        """What stands above it."""
        return self.scene.title

    def svg(self) -> str:
        """An SVG document; a word is named when one points at its dot."""
        return to_svg(self.scene)

    def html(self) -> str:
        """A page with the picture and its values, without script and without anything from elsewhere."""
        body = f"{self.piece()}<details><summary>Values</summary>{_table(self.rows)}"
        return sheet(self.title, [body, "</details>"], _STYLE)

    def piece(self) -> str:
        """The picture for the inside of any page."""
        return f'<div class="figure" style="overflow-x:auto">{to_svg(self.scene, self.own_size)}</div>'

    def png(self, theme: Theme = "light", scale: int = 2) -> bytes:
        """The bytes of a PNG file (extra `images`)."""
        return to_png(self.scene, theme, scale)

    def save(self, path: str | Path) -> list[str]:
        """Write a file of the kind its ending says; what it could not show is returned, a line each."""
        path, ending = Path(path), ending_of(path)
        content = _ENDINGS[ending](self)
        files.replace_file(path, content if isinstance(content, bytes) else content.encode())
        return self._lacking() if ending == ".png" else []

    def _lacking(self) -> list[str]:
        lost = undrawable(shape.text for shape in self.scene.shapes if isinstance(shape, Text))
        if not lost:
            return []
        some = ", ".join(lost[:5]) + (", …" if len(lost) > 5 else "")
        have = "text has" if len(lost) == 1 else "texts have"
        return [f"{len(lost)} {have} characters that no font for PNG pictures has ({some}); save it as .svg or .html"]


_ENDINGS: dict[str, Callable[[Figure], str | bytes]] = {".svg": Figure.svg, ".html": Figure.html, ".png": Figure.png}


def ending_of(path: str | Path) -> str:
    """The ending of a picture's name, which says its kind; another is an error."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        do = f"name it {', '.join(f'…{known}' for known in _ENDINGS)}"
        raise FirthError(f"no picture with the ending {ending!r}", where=path, do=do)
    return ending


class Paper:
    """Where things stand: title and legend above, the points in the middle, a note below."""

    def __init__(
        self, title: str, note: str, points: np.ndarray, kinds: Mapping[str, tuple[Role, str]], width: float
    ) -> None:
        self.title, self.note, self.width = title, note, width
        self.size, self.radius = (12.0, 3.5) if len(points) <= _MANY else (11.0, 3.0)
        inner = width - 2 * _MARGIN
        self.head = [Text(_MARGIN, 30.0, shortened(title, 16.0, inner), 16.0, weight="bold")]
        top = self._legend(kinds, inner) + 12.0
        high = self._fit(points, inner, top)
        self.area = Box(_MARGIN, top, self.width - _MARGIN, top + high)
        self.height = top + high + 16.0

    def _legend(self, kinds: Mapping[str, tuple[Role, str]], inner: float) -> float:
        """Writes it into the head; returns where it ends."""
        x, y = _MARGIN, 54.0
        for name, (colour, kind) in kinds.items():
            text = shortened(name, 12.0, inner - 16.0)
            if x > _MARGIN and x + 16.0 + text_width(text, 12.0) > self.width - _MARGIN:
                x, y = _MARGIN, y + 20.0
            self.head += [mark(x + 5.0, y - 4.0, 4.5, colour, kind), Text(x + 15.0, y, text, 12.0)]
            x += 15.0 + text_width(text, 12.0) + 16.0
        return y if kinds else 34.0

    def _fit(self, points: np.ndarray, inner: float, top: float) -> float:
        """Sets `at`, the points in pixels, at one scale for both axes; returns the height they take with labels."""
        low, high = points.min(0), points.max(0)
        spread = np.maximum(high - low, 1e-9 * (np.abs(points).max() or 1.0))
        room = inner - 2 * _SIDE
        tall = float(np.clip(room * spread[1] / spread[0], 0.45 * room, 0.85 * room))
        scale = min(room / spread[0], tall / spread[1]) if (high > low).any() else 0.0
        middle = np.array([_MARGIN + inner / 2, top + self.size * 1.5 + tall / 2])
        self.at = [(float(x), float(y)) for x, y in middle + (points - (low + high) / 2) * (scale, -scale)]
        return tall + 3 * self.size

    def anchor(self, at: tuple[float, float], text: str, kind: str = "circle") -> Anchor:
        """The place of a word's label."""
        reach = self.radius if kind == "circle" else 1.4 * self.radius
        return Anchor(*at, reach, shortened(text, self.size, _LONGEST))

    def figure(
        self,
        drawn: Sequence[Shape],
        labels: Sequence[Label | None],
        looks: Iterable[tuple[Role, str]],
        rows: Sequence[dict[str, Any]],
    ) -> Figure:
        """Everything together. `looks` has each label's colour and what is shown when one points at it."""
        dropped = sum(label is None for label in labels)
        lost = f" {dropped:,} label{'s have' if dropped > 1 else ' has'} no room." if dropped else ""
        lines = wrapped(self.note + lost, 11.0, self.width - 2 * _MARGIN)
        foot = [Text(_MARGIN, self.height + 15.0 * number, line, 11.0, "soft") for number, line in enumerate(lines)]
        placed = [(label, look) for label, look in zip(labels, looks, strict=True) if label]
        leaders = [Line((at.leader[:2], at.leader[2:]), "soft", 0.6) for at, _ in placed if at.leader]
        texts = [Text(at.x, at.y, at.text, self.size, look[0], at.align, about=look[1]) for at, look in placed]
        shapes = (*self.head, *leaders, *drawn, *texts, *foot)
        scene = Scene(self.width, self.height + 15.0 * len(lines) + 4.0, self.title, shapes)
        return Figure(scene, self.note + lost, tuple(rows), dropped)


def arrange(
    title: str,
    note: str,
    points: np.ndarray,
    kinds: Mapping[str, tuple[Role, str]],
    labelled: Callable[[Paper], list[Label | None]],
) -> tuple[Paper, list[Label | None]]:
    """The points on the smallest paper where all labels (of each hundred, 95) have room, or on the largest."""
    least = min(60.0 * len(points) ** 0.5, _WIDTHS[-1])  # a smaller one need not be tried
    for width in (width for width in _WIDTHS if width >= least):
        paper = Paper(title, note, points, kinds, width)
        labels = labelled(paper)
        if labels.count(None) <= len(points) // 100 * 5:
            break
    return paper, labels


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
    lines = ("".join(f"<td>{escape(_shown(value))}</td>" for value in row.values()) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "n/a"}[value]
    return f"{value:.3f}" if isinstance(value, float) else str(value)
