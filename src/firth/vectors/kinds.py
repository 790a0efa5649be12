"""What a file of questions about words asks: told from its first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from firth.data import lines
from firth.data.formats.values import number
from firth.data.formats.wordlists import Similarity

SAMPLE = 200  # lines that are looked at
Kind = Literal["similarity", "contexts", "analogy", "bats", "categories", "choices", "wic", "labels", ""]


@dataclass(frozen=True)
class Guess:
    """What a file asks; "" is nothing known. `form` says where a similarity file has its words and score."""

    kind: Kind
    form: Similarity | None = None


def guess(path: str | Path) -> Guess:
    """What this file asks."""
    found = [line for _, line in islice(lines.lines(path), SAMPLE) if line.strip()]
    if not found:
        return Guess("")
    mark = next((mark for mark in "\t," if mark in found[0]), " ")
    rows = [line.split() if mark == " " else line.split(mark) for line in found]
    kind = next((kind for kind, rule in RULES.items() if rule(found, rows)), "")
    if kind:
        return Guess(kind)
    form = _scored(rows, mark)
    return Guess("similarity", form) if form else Guess("bats" if _is_bats(rows) else "")


RULES = {
    "analogy": lambda found, rows: re.match(r": ?\S", found[0]) is not None,
    "labels": lambda found, rows: found[0].startswith("__label__"),
    "categories": lambda found, rows: {"category", "word"} <= set(rows[0]),
    "contexts": lambda found, rows: len(rows[0]) == 18 and "<b>" in found[0],
    "wic": lambda found, rows: all(len(row) == 5 and re.fullmatch(r"\d+-\d+", row[2]) for row in rows),
    "choices": lambda found, rows: all("|" in line for line in found if not line.startswith("#")),
}


def _scored(rows: Sequence[Sequence[str]], mark: str) -> Similarity | None:
    """Words in the first two columns, their score in the first column after them that has numbers throughout."""
    width, body = len(rows[0]), rows[1:] or rows
    if width < 3 or any(len(row) != width for row in rows):
        return None
    numbers = (place for place in range(2, width) if all(number(row[place]) is not None for row in body))
    score = next(numbers, None)
    if score is None or not all(_is_word(row[0]) and _is_word(row[1]) for row in body):
        return None
    names = ["left", "right", *(f"column{place + 1}" for place in range(2, width))]
    names[score] = "score"
    return Similarity(tuple(names), {"\t": "tab", ",": "comma", " ": "blank"}[mark])


def _is_word(text: str) -> bool:
    return bool(text) and number(text) is None and len(text.split()) <= 3


def _is_bats(rows: Sequence[Sequence[str]]) -> bool:
    """Two columns of single words, the second perhaps with several answers."""
    return all(len(row) == 2 and row[0] and row[1] and _is_word(row[0]) and " " not in row[0] for row in rows)
