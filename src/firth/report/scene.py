"""A picture as a list of plain shapes, which can be written as SVG here and as PNG in `raster`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from firth.report.svg import COLOURS

Theme = Literal["light", "dark"]
Point = tuple[float, float]
Role = str  # a name of a colour: of THEMES, or `group 1`, `group 2`, …
_LIGHT = {"ink": "#1a202c", "soft": "#718096", "line": "#cbd5e0", "paper": "#ffffff"}
_DARK = {"ink": "#e2e8f0", "soft": "#a0aec0", "line": "#4a5568", "paper": "#171923"}
_BRIGHT = ("#63b3ed", "#f6ad55", "#68d391", "#b794f4", "#f687b3", "#cbd5e0")  # the groups' colours on dark paper
THEMES: dict[str, dict[Role, str]] = {
    "light": _LIGHT | {f"group {n}": colour for n, colour in enumerate(COLOURS, 1)},
    "dark": _DARK | {f"group {n}": colour for n, colour in enumerate(_BRIGHT, 1)},
}
MARKS = ("circle", "square", "triangle", "diamond")
_CORNERS = {"square": (4, math.pi / 4, 1.25), "triangle": (3, -math.pi / 2, 1.4), "diamond": (4, 0.0, 1.4)}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Dot:
    """A filled circle; `about` is shown when one points at it."""

    x: float
    y: float
    radius: float
    colour: Role
    about: str = ""


@dataclass(frozen=True)
class Area:
    """A filled polygon; the paper shows through where its strength is below 1."""

    points: tuple[Point, ...]
    colour: Role
    about: str = ""
    strength: float = 1.0


@dataclass(frozen=True)
class Line:
    """A line through two or more points."""

    points: tuple[Point, ...]
    colour: Role
    width: float = 1.0


@dataclass(frozen=True)
class Text:
    """A line of text; `x`, `y` is where its baseline begins, ends or has its middle, around which it may be turned."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: Role = "ink"
    align: Literal["start", "middle", "end"] = "start"
    weight: Literal["normal", "bold"] = "normal"
    about: str = ""
    turn: float = 0.0  # degrees, clockwise


Shape = Dot | Area | Line | Text


@dataclass(frozen=True)
class Scene:
    """Shapes on paper, the later over the earlier."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


def group(number: int) -> tuple[Role, str]:
    """The colour and the mark of the n-th group, from 0: when all colours are used, the next mark begins."""
    return f"group {number % len(COLOURS) + 1}", MARKS[number // len(COLOURS) % len(MARKS)]


def mark(x: float, y: float, radius: float, colour: Role, kind: str = "circle", about: str = "") -> Dot | Area:
    """A point of a map."""
    if kind == "circle":
        return Dot(x, y, radius, colour, about)
    corners, first, factor = _CORNERS[kind]
    turns = (first + 2 * math.pi * n / corners for n in range(corners))
    reach = factor * radius
    return Area(tuple((x + reach * math.cos(turn), y + reach * math.sin(turn)) for turn in turns), colour, about)


def arrow(start: Point, end: Point, colour: Role, gap: float, about: str = "") -> list[Shape]:
    """A line with a head, both ends a gap away from the points it joins."""
    length = math.dist(start, end)
    if length <= 2 * gap + 1:
        return [Line((start, end), colour, 1.5)]
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    tail, tip = (start[0] + gap * ux, start[1] + gap * uy), (end[0] - gap * ux, end[1] - gap * uy)
    head = min(9.0, (length - 2 * gap) / 2)
    neck = (tip[0] - head * ux, tip[1] - head * uy)
    side = 0.4 * head
    corners = (tip, (neck[0] - side * uy, neck[1] + side * ux), (neck[0] + side * uy, neck[1] - side * ux))
    return [Line((tail, neck), colour, 1.5), Area(corners, colour, about)]


# --- SVG ---


def to_svg(scene: Scene, own_size: bool = False) -> str:
    """A whole SVG document, also for the inside of a page: its colours follow the reader's choice of light or dark.

    Colours stand in attributes too, for programs that know no CSS variables. With `own_size` a page does not fit it
    to its width.
    """
    width, height = f"{scene.width:g}", f"{scene.height:g}"
    label = _escaped(scene.title)
    size = f' style="width:{width}px;min-width:0;height:auto"' if own_size else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="scene" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"{size} role="img" aria-label="{label}"><title>{label}</title><style>{_style()}</style>'
        f'<rect class="paper" width="{width}" height="{height}" fill="{THEMES["light"]["paper"]}"/>'
        f"{''.join(_WRITERS[type(shape)](shape) for shape in scene.shapes)}</svg>"
    )


def _style() -> str:
    light, dark = (
        "".join(f"--{_name(role)}:{colour};" for role, colour in THEMES[theme].items()) for theme in ("light", "dark")
    )
    used = "".join(
        f".scene .{name}{{fill:var(--{name})}}.scene .stroke-{name}{{stroke:var(--{name})}}"
        for name in map(_name, THEMES["light"])
    )
    return (
        f".scene{{{light}}}@media (prefers-color-scheme: dark){{.scene{{{dark}}}}}{used}"
        ".scene text{font-family:system-ui,sans-serif}"
    )


def _name(role: Role) -> str:
    return role.replace(" ", "-")


def _fill(role: Role) -> str:
    return f'class="{_name(role)}" fill="{THEMES["light"][role]}"'


def _about(text: str) -> str:
    return f"<title>{_escaped(text)}</title>" if text else ""


def _dot(shape: Dot) -> str:
    at = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}"'
    return f"<circle {at} {_fill(shape.colour)}>{_about(shape.about)}</circle>"


def _area(shape: Area) -> str:
    faint = f' fill-opacity="{shape.strength:.3g}"' if shape.strength < 1 else ""
    return f'<polygon points="{_points(shape.points)}" {_fill(shape.colour)}{faint}>{_about(shape.about)}</polygon>'


def _line(shape: Line) -> str:
    colour = f'class="stroke-{_name(shape.colour)}" stroke="{THEMES["light"][shape.colour]}"'
    return f'<polyline points="{_points(shape.points)}" {colour} fill="none" stroke-width="{shape.width:g}"/>'


def _text(shape: Text) -> str:
    weight = ";font-weight:600" if shape.weight == "bold" else ""
    turned = f' transform="rotate({shape.turn:g} {shape.x:.1f} {shape.y:.1f})"' if shape.turn else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}"{turned} text-anchor="{shape.align}" {_fill(shape.colour)} '
        f'style="font-size:{shape.size:g}px{weight}">{_about(shape.about)}{_escaped(shape.text)}</text>'
    )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _escaped(text: str) -> str:
    """Text for SVG: some characters may not stand in XML at all."""
    return escape(_NOT_XML.sub("�", text))


_WRITERS: dict[type, Callable[..., str]] = {Dot: _dot, Area: _area, Line: _line, Text: _text}
