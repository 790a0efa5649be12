"""Rendering a drawing as PNG with Pillow (extra `images`)."""

from __future__ import annotations

import io
import math
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from firth.errors import FirthError
from firth.report.drawing import Circle, Drawing, Line, Polygon, Text
from firth.report.palette import THEMES, Theme

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_SUPERSAMPLING = 2  # antialiasing factor
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
# Font fallback: the first that has all glyphs of a text; Pillow's own has hardly more than ASCII.
_FONTS = (
    "",
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "Arial Unicode.ttf",
    "arial.ttf",
    "NotoSansCJK-Regular.ttc",
    "PingFang.ttc",
    "msyh.ttc",
    "malgun.ttf",
    "Nirmala.ttf",
)
_MISSING_CHARACTER = "\U0010ffff"  # in no font


def to_png(drawing: Drawing, theme: Theme = "light", scale: int = 2) -> bytes:
    """Render the bytes of a PNG file with `scale` pixels per unit of the drawing."""
    _require_pillow()
    from PIL import Image, ImageDraw

    colours, zoom = THEMES[theme], scale * _SUPERSAMPLING
    image = Image.new("RGB", (round(drawing.width * zoom), round(drawing.height * zoom)), colours["paper"])
    draw = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        colour = _blend(colours[shape.colour], colours["paper"], getattr(shape, "opacity", 1.0))
        _RENDERERS[type(shape)](draw, shape, colour, zoom)
    buffer = io.BytesIO()
    image.reduce(_SUPERSAMPLING).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _blend(colour: str, paper: str, opacity: float) -> str:
    """Blend a colour with the background (alpha compositing)."""
    foreground, background = ([int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in (colour, paper))
    return "#" + "".join(f"{round(b + opacity * (a - b)):02x}" for a, b in zip(foreground, background, strict=True))


def unsupported_texts(texts: Iterable[str]) -> list[str]:
    """The texts that none of the known fonts on this machine can draw."""
    return [text for text in texts if not any(_supports(name, text) for name in _FONTS)]


def _supports(name: str, text: str) -> bool:
    """Whether a font is installed, has all glyphs of a text, and the text needs no unavailable shaping engine."""
    text = unicodedata.normalize("NFC", text)
    return all(_has_glyph(name, character) for character in text) and (
        _has_shaping() or not any(map(_needs_shaping, text))
    )


@cache
def _has_glyph(name: str, character: str) -> bool:
    font = _font(name, 24.0)
    return font is not None and (
        character.isspace() or bytes(font.getmask(character)) != bytes(font.getmask(_MISSING_CHARACTER))
    )


def _needs_shaping(character: str) -> bool:
    """Whether a character is of a right-to-left script or a combining mark."""
    return unicodedata.bidirectional(character) in ("R", "AL") or unicodedata.category(character) in ("Mn", "Mc")


@cache
def _has_shaping() -> bool:
    from PIL import features

    return features.check("raqm")


def _require_pillow() -> None:
    try:
        from PIL import features

        scalable = features.check("freetype2")
    except ImportError:
        scalable = False
    if not scalable:
        what, do = "PNG figures need Pillow", 'pip install "firth[images]", or save it as .svg or .html'
        raise FirthError(what, do=do)


@cache
def _font(name: str, size: float) -> FreeTypeFont | None:
    """An installed font, or Pillow's own; None if it is not installed."""
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, size) if name else ImageFont.load_default(size)
    except OSError:
        return None


def _circle(draw: ImageDraw, shape: Circle, colour: str, zoom: int) -> None:
    x, y, radius = shape.x * zoom, shape.y * zoom, shape.radius * zoom
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _polygon(draw: ImageDraw, shape: Polygon, colour: str, zoom: int) -> None:
    draw.polygon([(x * zoom, y * zoom) for x, y in shape.points], fill=colour)


def _line(draw: ImageDraw, shape: Line, colour: str, zoom: int) -> None:
    width = max(1, round(shape.width * zoom))
    draw.line([(x * zoom, y * zoom) for x, y in shape.points], fill=colour, width=width, joint="curve")


def _text(draw: ImageDraw, shape: Text, colour: str, zoom: int) -> None:
    text = unicodedata.normalize("NFC", shape.text)
    bold = zoom // 3 if shape.weight == "bold" else 0  # the font has one weight
    name = next((name for name in _FONTS if _supports(name, text)), _FONTS[0])
    at, font, anchor = (shape.x * zoom, shape.y * zoom), _font(name, shape.size * zoom), _ANCHORS[shape.align]
    if shape.rotation:
        _rotated_text(draw, at, text, shape.rotation, fill=colour, font=font, anchor=anchor, stroke_width=bold)
        return
    draw.text(at, text, fill=colour, font=font, anchor=anchor, stroke_width=bold)


def _rotated_text(
    draw: ImageDraw, at: tuple[float, float], text: str, rotation: float, fill: str, **options: Any
) -> None:
    """Draw a text rotated around its position: on a separate mask that is large enough, then pasted."""
    from PIL import Image, ImageDraw

    left, top, right, bottom = draw.textbbox((0, 0), text, **options)
    radius = 1 + math.ceil(max(abs(left), abs(right)) + max(abs(top), abs(bottom)))
    mask = Image.new("L", (2 * radius, 2 * radius))
    ImageDraw.Draw(mask).text((radius, radius), text, fill=255, **options)
    mask = mask.rotate(-rotation, resample=Image.Resampling.BICUBIC)
    draw.bitmap((round(at[0]) - radius, round(at[1]) - radius), mask, fill=fill)


_RENDERERS: dict[type, Callable[..., None]] = {Circle: _circle, Polygon: _polygon, Line: _line, Text: _text}
