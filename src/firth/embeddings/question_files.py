"""Detects the format of a word-vector test set (similarity, analogy, categories, …) from its first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from firth.datasets import numbered_lines
from firth.datasets.readers.values import parse_number
from firth.datasets.readers.wordlists import Similarity

SAMPLE_LINES = 200  # lines that are read
Kind = Literal["similarity", "contexts", "analogy", "bats", "categories", "choices", "wic", "labels", ""]


@dataclass(frozen=True)
class DetectedFormat:
    """The kind of a test set, "" if unknown; `columns` says where a similarity file has its words and its score."""

    kind: Kind
    columns: Similarity | None = None


def detect_format(path: str | Path) -> DetectedFormat:
    """The kind of test set in this file."""
    lines = [line for _, line in islice(numbered_lines.lines(path), SAMPLE_LINES) if line.strip()]
    if not lines:
        return DetectedFormat("")
    separator = next((separator for separator in "\t," if separator in lines[0]), " ")
    rows = [line.split() if separator == " " else line.split(separator) for line in lines]
    kind = next((kind for kind, rule in RULES.items() if rule(lines, rows)), "")
    if kind:
        return DetectedFormat(kind)
    columns = _similarity_columns(rows, separator)
    return DetectedFormat("similarity", columns) if columns else DetectedFormat("bats" if _is_bats(rows) else "")


RULES = {
    "analogy": lambda lines, rows: re.match(r": ?\S", lines[0]) is not None,
    "labels": lambda lines, rows: lines[0].startswith("__label__"),
    "categories": lambda lines, rows: {"category", "word"} <= set(rows[0]),
    "contexts": lambda lines, rows: len(rows[0]) == 18 and "<b>" in lines[0],
    "wic": lambda lines, rows: all(len(row) == 5 and re.fullmatch(r"\d+-\d+", row[2]) for row in rows),
    "choices": lambda lines, rows: all("|" in line for line in lines if not line.startswith("#")),
}


def _similarity_columns(rows: Sequence[Sequence[str]], separator: str) -> Similarity | None:
    """Words in the first two columns, their score in the first later column that has only numbers."""
    width, body = len(rows[0]), rows[1:] or rows
    if width < 3 or any(len(row) != width for row in rows):
        return None
    numeric = (column for column in range(2, width) if all(parse_number(row[column]) is not None for row in body))
    score = next(numeric, None)
    if score is None or not all(_is_word(row[0]) and _is_word(row[1]) for row in body):
        return None
    names = ["left", "right", *(f"column{column + 1}" for column in range(2, width))]
    names[score] = "score"
    return Similarity(tuple(names), {"\t": "tab", ",": "comma", " ": "blank"}[separator])


def _is_word(text: str) -> bool:
    return bool(text) and parse_number(text) is None and len(text.split()) <= 3


def _is_bats(rows: Sequence[Sequence[str]]) -> bool:
    """Two columns of single words, the second possibly with several answers."""
    return all(len(row) == 2 and row[0] and row[1] and _is_word(row[0]) and " " not in row[0] for row in rows)
