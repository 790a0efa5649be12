"""Attributes of a word by itself, of which the features of a tagger are made: its form, affixes, shape and casing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from firth.tokenizers.casing import CASINGS, casing_class

_RUNS = re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """The word with each letter replaced by X, x or (without case) c, and each digit by 0: Nov-12 is Xxx-00."""
    return "".join(map(_shape_of, word))


def short_shape(word: str) -> str:
    """The shape with equal neighbours as one: Xx-0."""
    return _RUNS.sub(r"\1", shape(word))


def _shape_of(character: str) -> str:
    if character.isdigit():
        return "0"
    if not character.isalpha():
        return character
    return "X" if character.isupper() else "x" if character.islower() else "c"


def casing(word: str) -> str:
    """The name of the casing class."""
    return CASINGS[casing_class(word)]


def prefix(size: int) -> Callable[[str], str]:
    """The first characters; nothing of a shorter word."""
    return lambda word: word[:size] if len(word) >= size else ""


def suffix(size: int) -> Callable[[str], str]:
    """The last characters; nothing of a shorter word."""
    return lambda word: word[-size:] if len(word) >= size else ""


def attributes(affixes: int) -> Mapping[str, Callable[[str], str]]:
    """All attributes by name, with prefixes and suffixes of up to so many characters; an empty value is none."""
    return {
        "word": str,
        "lower": str.lower,
        "shape": shape,
        "short-shape": short_shape,
        "casing": casing,
        **{f"prefix-{size}": prefix(size) for size in range(1, affixes + 1)},
        **{f"suffix-{size}": suffix(size) for size in range(1, affixes + 1)},
    }
