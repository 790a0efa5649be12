"""The word that an example is about, marked in its sentence by quotation marks, so that any classifier of texts knows
which it is (Huang et al. 2019; entity markers: Baldini Soares et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from firth.datasets.records import Pair
from firth.errors import FirthError

MARK = '"'  # before and after the word
POSITIONS = "positions"  # the field of a pair of sentences that says where the word is in each: 2-3
Record = TypeVar("Record")


def mark_word(words: Sequence[str], position: int) -> str:
    """The sentence with marks around one word."""
    if not 0 <= position < len(words):
        raise FirthError(f"position {position} of {len(words)} words", do="count the words from 0")
    return " ".join([*words[:position], MARK, words[position], MARK, *words[position + 1 :]])


def mark_targets(example: Record) -> Record:
    """A pair of sentences about one word with that word marked in both; any other example as it is."""
    if not isinstance(example, Pair) or POSITIONS not in (fields := dict(example.fields)):
        return example
    positions = map(int, fields[POSITIONS].split("-"))
    left, right = (mark_word(text.split(" "), at) for text, at in zip(example[:2], positions, strict=True))
    others = tuple(field for field in example.fields if field[0] != POSITIONS)
    return example._replace(left=left, right=right, fields=others)  # type: ignore[return-value]
