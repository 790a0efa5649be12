"""The legend of a figure, in as many lines as it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from firth.report.drawing import ColourName, Line, Shape, Text, marker
from firth.report.label_layout import text_width, truncate_text

_SIZE, _LINE_LENGTH, _GAP = 12.0, 18.0, 18.0
LINE_SPACING = 20.0


class Entry(NamedTuple):
    """What a colour and a marker mean; without a marker it is a line, with `line` both."""

    text: str
    colour: ColourName
    shape: str = ""
    line: bool = False


def legend(entries: Iterable[Entry], left: float, y: float, right: float) -> tuple[list[Shape], float]:
    """The legend between two margins, the baseline of its first line at `y`; and the baseline of its last line."""
    shapes: list[Shape] = []
    x = left
    for text, colour, shape, line in entries:
        swatch = _LINE_LENGTH if line or not shape else 10.0
        text = truncate_text(text, _SIZE, right - left - swatch - 5.0)
        width = swatch + 5.0 + text_width(text, _SIZE)
        if x > left and x + width > right:
            x, y = left, y + LINE_SPACING
        if line or not shape:
            shapes.append(Line(((x, y - 4.0), (x + swatch, y - 4.0)), colour, 2.2))
        if shape:
            shapes.append(marker(x + swatch / 2, y - 4.0, 3.0 if line else 4.5, colour, shape))
        shapes.append(Text(x + swatch + 5.0, y, text, _SIZE))
        x += width + _GAP
    return shapes, y
