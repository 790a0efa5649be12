"""Where a text can be cut: the nearest end of a paragraph, line, sentence or word."""

from __future__ import annotations

import re

_CLOSING = r"[\"'”’»」』）)\]]*"
# The best first: a paragraph; a line that ends a sentence; a sentence; a line; a word.
BOUNDARIES = [
    re.compile(pattern)
    for pattern in (
        r"\n[^\S\n]*\n\s*",
        rf"[.!?…。！？؟।:]{_CLOSING}[^\S\n]*\n",
        rf"(?:[.!?…؟।]{_CLOSING}\s+|[。！？]{_CLOSING}\s*)",
        r"\n",
        r"\s+|[、，；]",
    )
]


def nearest_cut(text: str, place: int, slack: int) -> int:
    """The best boundary at most `slack` characters from the place, the place itself if there is none."""
    low, high = place - slack, place + slack
    if low <= 0 or high >= len(text):  # the text's own end is the best boundary
        return 0 if place < len(text) - place else len(text)
    window = text[low:high]
    for pattern in BOUNDARIES:
        ends = [low + match.end() for match in pattern.finditer(window)]
        if ends:
            return min(ends, key=lambda end: abs(end - place))
    return _between_characters(text, place)


def _between_characters(text: str, place: int) -> int:
    """The place, or one before: combining marks, joiners and variation selectors stay with their character."""
    from unicodedata import combining

    def continues(sign: str) -> bool:
        return combining(sign) > 0 or sign in "\u200d\ufe0f" or "\U0001f3fb" <= sign <= "\U0001f3ff"

    first = max(place - 8, 0)
    while place > first and place < len(text) and (continues(text[place]) or text[place - 1] == "\u200d"):
        place -= 1
    return place


def characters_at(text: str, places: list[int]) -> list[int]:
    """The characters before each place in bytes of UTF-8, a partial one not counted."""
    if text.isascii():
        return places
    data = text.encode()
    return [len(data[:place].decode(errors="ignore")) for place in places]
