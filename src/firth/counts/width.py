"""How many columns text takes on a screen: wide characters two, combining ones none."""

from __future__ import annotations

import re
from unicodedata import category, combining, east_asian_width

_BLANKS = re.compile(r"\s+")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # also what turns text around


def plain(text: str) -> str:
    """The text on one line; blanks in a row are one, and what would steer a terminal is shown as a dot."""
    return _CONTROL.sub("·", _BLANKS.sub(" ", text))


def width(text: str) -> int:
    """The columns of a text."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if combining(character) or category(character) in ("Mn", "Me", "Cf"):
        return 0
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return 0  # vowels and finals of decomposed Korean, which join the consonant before them
    return 2 if east_asian_width(character) in "WF" else 1


def head(text: str, columns: int) -> str:
    """As much of the beginning as fits."""
    taken = 0
    for at, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:at]
    return text


def tail(text: str, columns: int) -> str:
    """As much of the end as fits; it never begins with a mark that belongs to the character before."""
    taken, start = 0, len(text)
    for at in range(len(text) - 1, -1, -1):
        size = _columns(text[at])
        if taken + size > columns:
            break
        taken += size
        if size:  # marks count only together with what they stand on
            start = at
    return text[start:]


def pad(text: str, columns: int, *, left: bool = False) -> str:
    """The text filled up with blanks, on its right, or on its left."""
    blanks = " " * (columns - width(text))
    return blanks + text if left else text + blanks
