"""Attributes of a word by itself, of which the features of a tagger are made: its form, affixes, shape and casing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from firth.errors import FirthError
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


SEPARATOR = "|"  # between a word and the tags that are given with it


def split_given(word: str, given: int) -> list[str]:
    """A word and the tags that are given with it, of so many layers; an error if they are missing."""
    parts = word.rsplit(SEPARATOR, given) if given else [word]
    if len(parts) != given + 1:
        what = f"{word!r} is not a word with {given} given tag{'s' * (given > 1)}"
        raise FirthError(what, do=f"write {SEPARATOR.join(['word', *['tag'] * given])}, as in training")
    return parts


def attributes(affixes: int, given: int = 0) -> Mapping[str, Callable[[str], str]]:
    """All attributes by name, with prefixes and suffixes of up to so many characters, and of so many given tags; an
    empty value is none."""
    if given:
        plain = {name: _of_part(0, given, function) for name, function in attributes(affixes).items()}
        return plain | {f"given-{number}": _of_part(number, given, str) for number in range(1, given + 1)}
    return {
        "word": str,
        "lower": str.lower,
        "shape": shape,
        "short-shape": short_shape,
        "casing": casing,
        **{f"prefix-{size}": prefix(size) for size in range(1, affixes + 1)},
        **{f"suffix-{size}": suffix(size) for size in range(1, affixes + 1)},
    }


def _of_part(part: int, given: int, function: Callable[[str], str]) -> Callable[[str], str]:
    return lambda word: function(split_given(word, given)[part])
