"""The casing class of a word, which tells a network what lowercasing hides (Collobert et al. 2011)."""

from __future__ import annotations

# A class for each way in which a word is written; padding is 0.
CASINGS = ("padding", "lower", "title", "upper", "mixed", "caseless", "number", "with digits", "no letters")
_NUMBER = {name: number for number, name in enumerate(CASINGS)}


def casing_class(word: str) -> int:
    """The number of a word's class."""
    return _NUMBER[_casing(word)]


def _casing(word: str) -> str:
    has_letters = any(map(str.isalpha, word))
    if any(map(str.isdigit, word)):
        return "with digits" if has_letters else "number"
    if not has_letters:
        return "no letters"
    lower, upper = word.lower(), word.upper()
    if lower == upper:
        return "caseless"  # of a script without case
    if word == lower:
        return "lower"
    if word[0].isupper() and word[1:] == lower[len(word[0].lower()) :]:
        return "title"
    return "upper" if word == upper else "mixed"
