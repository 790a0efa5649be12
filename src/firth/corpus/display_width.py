"""Display width of text on a terminal: wide (East Asian) characters take two columns, combining ones none."""

from __future__ import annotations

import re
from unicodedata import category, combining, east_asian_width

_WHITESPACE = re.compile(r"\s+")
# also marks of bidirectional text
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def sanitise(text: str) -> str:
    """The text on one line: whitespace collapsed, and control characters, which could steer a terminal, as dots."""
    return _CONTROL.sub("·", _WHITESPACE.sub(" ", text))


def display_width(text: str) -> int:
    """The terminal columns of a text."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if combining(character) or category(character) in ("Mn", "Me", "Cf"):
        return 0
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return 0  # vowels and finals of decomposed Hangul, which join the consonant before them
    return 2 if east_asian_width(character) in "WF" else 1


def truncate(text: str, columns: int) -> str:
    """The longest prefix that fits into the columns."""
    used = 0
    for at, character in enumerate(text):
        used += _character_width(character)
        if used > columns:
            return text[:at]
    return text


def truncate_left(text: str, columns: int) -> str:
    """The longest suffix that fits into the columns; it never starts with a combining character."""
    used, start = 0, len(text)
    for at in range(len(text) - 1, -1, -1):
        width = _character_width(text[at])
        if used + width > columns:
            break
        used += width
        if width:  # combining characters count only with their base character
            start = at
    return text[start:]


def pad(text: str, columns: int, *, left: bool = False) -> str:
    """The text padded with spaces on its right, or on its left."""
    spaces = " " * (columns - display_width(text))
    return spaces + text if left else text + spaces
