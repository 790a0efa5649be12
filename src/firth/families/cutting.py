"""Texts that are too long to be read at once, cut at the ends of sentences."""

from __future__ import annotations

from collections.abc import Iterable

from firth.text.split import sentences
from firth.text.tokenizer import Tokenizer


def pieces(text: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """The parts that a text is read in, of so many tokens at most (0: any number): the whole of it, as many sentences
    at a time as fit, and of a sentence that is too long as many words."""
    if not limit or len(tokenizer.ids(text)) <= limit:
        return [text]
    found: list[str] = []
    for sentence in sentences(text):
        fits = len(tokenizer.ids(sentence)) <= limit
        found += [sentence] if fits else _filled(sentence.split(), tokenizer, limit)
    return _filled(found, tokenizer, limit)


def _filled(parts: Iterable[str], tokenizer: Tokenizer, limit: int) -> list[str]:
    """Parts joined by blanks, as many at a time as fit."""
    found: list[str] = []
    for part in parts:
        longer = f"{found[-1]} {part}" if found else part
        if found and len(tokenizer.ids(longer)) <= limit:
            found[-1] = longer
        else:
            found.append(part)
    return found
