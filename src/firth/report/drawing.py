"""A drawing as a list of plain shapes, rendered as SVG here and as PNG in `png`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from firth.report.palette import GROUP_COUNT, THEMES, ColourName, css_name, css_variables

Point = tuple[float, float]
MARKERS = ("circle", "square", "triangle", "diamond")
_MARKER_POLYGONS = {"square": (4, math.pi / 4, 1.25), "triangle": (3, -math.pi / 2, 1.4), "diamond": (4, 0.0, 1.4)}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Circle:
    """A filled circle with a tooltip."""

    x: float
    y: float
    radius: float
    colour: ColourName
    tooltip: str = ""


@dataclass(frozen=True)
class Polygon:
    """A filled polygon, transparent where its opacity is below 1."""

    points: tuple[Point, ...]
    colour: ColourName
    tooltip: str = ""
    opacity: float = 1.0


@dataclass(frozen=True)
class Line:
    """A polyline through two or more points."""

    points: tuple[Point, ...]
    colour: ColourName
    width: float = 1.0


@dataclass(frozen=True)
class Text:
    """A line of text; `x`, `y` is the start, middle or end of its baseline, around which it may be rotated."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: ColourName = "ink"
    align: Literal["start", "middle", "end"] = "start"
    weight: Literal["normal", "bold"] = "normal"
    tooltip: str = ""
    rotation: float = 0.0  # degrees, clockwise


Shape = Circle | Polygon | Line | Text


@dataclass(frozen=True)
class Drawing:
    """Shapes in drawing order, the later over the earlier."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


def group_style(number: int) -> tuple[ColourName, str]:
    """The colour and the marker of the n-th group (from 0): when all colours are used, the next marker begins."""
    return f"group {number % GROUP_COUNT + 1}", MARKERS[number // GROUP_COUNT % len(MARKERS)]


def marker(
    x: float, y: float, radius: float, colour: ColourName, shape: str = "circle", tooltip: str = ""
) -> Circle | Polygon:
    """A marker of a scatter plot."""
    if shape == "circle":
        return Circle(x, y, radius, colour, tooltip)
    corners, first, factor = _MARKER_POLYGONS[shape]
    angles = (first + 2 * math.pi * n / corners for n in range(corners))
    outer_radius = factor * radius
    return Polygon(
        tuple((x + outer_radius * math.cos(angle), y + outer_radius * math.sin(angle)) for angle in angles),
        colour,
        tooltip,
    )


def arrow(start: Point, end: Point, colour: ColourName, gap: float, tooltip: str = "") -> list[Shape]:
    """An arrow between two points, both ends a gap away from them."""
    length = math.dist(start, end)
    if length <= 2 * gap + 1:
        return [Line((start, end), colour, 1.5)]
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    tail, tip = (start[0] + gap * ux, start[1] + gap * uy), (end[0] - gap * ux, end[1] - gap * uy)
    head = min(9.0, (length - 2 * gap) / 2)
    neck = (tip[0] - head * ux, tip[1] - head * uy)
    side = 0.4 * head
    corners = (tip, (neck[0] - side * uy, neck[1] + side * ux), (neck[0] + side * uy, neck[1] - side * ux))
    return [Line((tail, neck), colour, 1.5), Polygon(corners, colour, tooltip)]


# --- SVG ---


def to_svg(drawing: Drawing, fixed_size: bool = False) -> str:
    """Render an SVG document, also for embedding in a page: its colours follow the reader's light or dark theme.

    Colours are also given as attributes, for programs without CSS variables. With `fixed_size` a page does not scale it
    to its width.
    """
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    label = _escape_xml(drawing.title)
    size = f' style="width:{width}px;min-width:0;height:auto"' if fixed_size else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="scene" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"{size} role="img" aria-label="{label}"><title>{label}</title><style>{_style()}</style>'
        f'<rect class="paper" width="{width}" height="{height}" fill="{THEMES["light"]["paper"]}"/>'
        f"{''.join(_RENDERERS[type(shape)](shape) for shape in drawing.shapes)}</svg>"
    )


def _style() -> str:
    used = "".join(
        f".scene .{name}{{fill:var(--{name})}}.scene .stroke-{name}{{stroke:var(--{name})}}"
        for name in map(css_name, THEMES["light"])
    )
    return f"{css_variables('.scene')}{used}.scene text{{font-family:system-ui,sans-serif}}"


def _fill(role: ColourName) -> str:
    return f'class="{css_name(role)}" fill="{THEMES["light"][role]}"'


def _tooltip(text: str) -> str:
    return f"<title>{_escape_xml(text)}</title>" if text else ""


def _circle(shape: Circle) -> str:
    at = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}"'
    return f"<circle {at} {_fill(shape.colour)}>{_tooltip(shape.tooltip)}</circle>"


def _polygon(shape: Polygon) -> str:
    opacity = f' fill-opacity="{shape.opacity:.3g}"' if shape.opacity < 1 else ""
    points = f'points="{_format_points(shape.points)}"'
    return f"<polygon {points} {_fill(shape.colour)}{opacity}>{_tooltip(shape.tooltip)}</polygon>"


def _line(shape: Line) -> str:
    colour = f'class="stroke-{css_name(shape.colour)}" stroke="{THEMES["light"][shape.colour]}"'
    return f'<polyline points="{_format_points(shape.points)}" {colour} fill="none" stroke-width="{shape.width:g}"/>'


def _text(shape: Text) -> str:
    weight = ";font-weight:600" if shape.weight == "bold" else ""
    rotation = f' transform="rotate({shape.rotation:g} {shape.x:.1f} {shape.y:.1f})"' if shape.rotation else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}"{rotation} text-anchor="{shape.align}" {_fill(shape.colour)} '
        f'style="font-size:{shape.size:g}px{weight}">{_tooltip(shape.tooltip)}{_escape_xml(shape.text)}</text>'
    )


def _format_points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _escape_xml(text: str) -> str:
    """Escape text for SVG; characters that are not allowed in XML are replaced."""
    return escape(_NOT_XML.sub("�", text))


_RENDERERS: dict[type, Callable[..., str]] = {Circle: _circle, Polygon: _polygon, Line: _line, Text: _text}
