"""A scene as PNG, drawn by Pillow (extra `images`)."""

from __future__ import annotations

import io
import math
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from firth.errors import FirthError
from firth.report.scene import THEMES, Area, Dot, Line, Scene, Text, Theme

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_FINE = 2  # drawn so many times larger, then reduced: smooth edges
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
# The first that can draw a text is taken: Pillow's own, which has hardly more than ASCII, then those of many machines.
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
_NOWHERE = "\U0010ffff"  # a character that no font has


def to_png(scene: Scene, theme: Theme = "light", scale: int = 2) -> bytes:
    """The bytes of a PNG file with `scale` pixels for each unit of the scene."""
    _pillow()
    from PIL import Image, ImageDraw

    colours, zoom = THEMES[theme], scale * _FINE
    image = Image.new("RGB", (round(scene.width * zoom), round(scene.height * zoom)), colours["paper"])
    draw = ImageDraw.Draw(image)
    for shape in scene.shapes:
        colour = _mixed(colours[shape.colour], colours["paper"], getattr(shape, "strength", 1.0))
        _WRITERS[type(shape)](draw, shape, colour, zoom)
    buffer = io.BytesIO()
    image.reduce(_FINE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _mixed(colour: str, paper: str, strength: float) -> str:
    """A colour through which the paper shows."""
    over, under = ([int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in (colour, paper))
    return "#" + "".join(f"{round(b + strength * (a - b)):02x}" for a, b in zip(over, under, strict=True))


def undrawable(texts: Iterable[str]) -> list[str]:
    """Those of the texts that no font on this machine can draw, as far as we know its fonts."""
    return [text for text in texts if not any(_draws(name, text) for name in _FONTS)]


def _draws(name: str, text: str) -> bool:
    """Whether a font is there and has all characters of a text, and they need not be joined by means that are not."""
    text = unicodedata.normalize("NFC", text)
    return all(_has(name, character) for character in text) and (_joins() or not any(map(_joined, text)))


@cache
def _has(name: str, character: str) -> bool:
    font = _font(name, 24.0)
    return font is not None and (character.isspace() or bytes(font.getmask(character)) != bytes(font.getmask(_NOWHERE)))


def _joined(character: str) -> bool:
    """Of a script that runs to the left, or a mark that stands on another character."""
    return unicodedata.bidirectional(character) in ("R", "AL") or unicodedata.category(character) in ("Mn", "Mc")


@cache
def _joins() -> bool:
    from PIL import features

    return features.check("raqm")


def _pillow() -> None:
    try:
        from PIL import features

        scalable = features.check("freetype2")
    except ImportError:
        scalable = False
    if not scalable:
        what, do = "PNG pictures need another package", 'pip install "firth[images]", or save it as .svg or .html'
        raise FirthError(what, do=do)


@cache
def _font(name: str, size: float) -> FreeTypeFont | None:
    """A font of this machine, or Pillow's own; None if there is no such font."""
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, size) if name else ImageFont.load_default(size)
    except OSError:
        return None


def _dot(draw: ImageDraw, shape: Dot, colour: str, zoom: int) -> None:
    x, y, radius = shape.x * zoom, shape.y * zoom, shape.radius * zoom
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _area(draw: ImageDraw, shape: Area, colour: str, zoom: int) -> None:
    draw.polygon([(x * zoom, y * zoom) for x, y in shape.points], fill=colour)


def _line(draw: ImageDraw, shape: Line, colour: str, zoom: int) -> None:
    width = max(1, round(shape.width * zoom))
    draw.line([(x * zoom, y * zoom) for x, y in shape.points], fill=colour, width=width, joint="curve")


def _text(draw: ImageDraw, shape: Text, colour: str, zoom: int) -> None:
    text = unicodedata.normalize("NFC", shape.text)
    bold = zoom // 3 if shape.weight == "bold" else 0  # the font has one weight
    name = next((name for name in _FONTS if _draws(name, text)), _FONTS[0])
    at, font, anchor = (shape.x * zoom, shape.y * zoom), _font(name, shape.size * zoom), _ANCHORS[shape.align]
    if shape.turn:
        _turned(draw, at, text, shape.turn, fill=colour, font=font, anchor=anchor, stroke_width=bold)
        return
    draw.text(at, text, fill=colour, font=font, anchor=anchor, stroke_width=bold)


def _turned(draw: ImageDraw, at: tuple[float, float], text: str, turn: float, fill: str, **how: Any) -> None:
    """A text turned around its place: drawn in the middle of a sheet of its own that it cannot leave, then laid on."""
    from PIL import Image, ImageDraw

    left, top, right, bottom = draw.textbbox((0, 0), text, **how)
    reach = 1 + math.ceil(max(abs(left), abs(right)) + max(abs(top), abs(bottom)))
    sheet = Image.new("L", (2 * reach, 2 * reach))
    ImageDraw.Draw(sheet).text((reach, reach), text, fill=255, **how)
    sheet = sheet.rotate(-turn, resample=Image.Resampling.BICUBIC)
    draw.bitmap((round(at[0]) - reach, round(at[1]) - reach), sheet, fill=fill)


_WRITERS: dict[type, Callable[..., None]] = {Dot: _dot, Area: _area, Line: _line, Text: _text}
