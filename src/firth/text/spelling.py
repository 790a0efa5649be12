"""What each token adds to a text, and where words end: for those who complete a text that stops in mid-word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.text.patterns import IDEOGRAPHS, MARKS, SPACE
from firth.text.pipeline import byte_alphabet
from firth.text.tokenizer import Tokenizer

_LETTER = f"[^{SPACE}{MARKS}{IDEOGRAPHS}]"
_REST = re.compile(f"{_LETTER}*")  # of a word that has begun
_WORD = re.compile(f"[{SPACE}]*(?:{_LETTER}+|[{IDEOGRAPHS}]|[{MARKS}])")  # a new one, or one mark
_LAST = re.compile(f" ?{_LETTER}*\\Z")  # the word a text stops in, with its space; a space; or nothing
_IN_WORD = re.compile(f"{_LETTER}\\Z")


@dataclass(frozen=True, eq=False)
class Table:
    """The bytes that each token adds; none for special tokens."""

    texts: tuple[bytes, ...]

    @cached_property
    def spelled(self) -> np.ndarray:
        """Which tokens add anything."""
        return self.where(bool)

    @cached_property
    def letters(self) -> np.ndarray:
        """Which tokens go on with a word that has begun; a part of a character counts as a letter."""
        return self.where(lambda text: bool(text) and _is_letter(text))

    def where(self, holds: Callable[[bytes], bool]) -> np.ndarray:
        """Which tokens' bytes are so (size,)."""
        return np.fromiter(map(holds, self.texts), bool, len(self.texts))


@dataclass(frozen=True, eq=False)
class Spelling:
    """What tokens add in the midst of a text and at its beginning."""

    inside: Table
    first: Table
    spaced: bool  # every word stands after a space, whatever the text had there


def spelling(tokenizer: Tokenizer) -> Spelling:
    """How a tokenizer spells: some put a space before each word, some have tokens that are parts of a character."""
    if tokenizer.kind in ("byte", "byte-bpe"):
        table = Table(_bytes(tokenizer))
        return Spelling(table, table, False)
    inside, first = Table(_decoded(tokenizer, _anchor(tokenizer))), Table(_decoded(tokenizer, None))
    return Spelling(inside, first, tokenizer.kind in ("word", "wordpiece"))


def _is_letter(text: bytes) -> bool:
    shown = text[:8].decode(errors="ignore")  # at most the last character is lost
    return not shown or bool(_IN_WORD.match(shown[0]))


def _bytes(tokenizer: Tokenizer) -> tuple[bytes, ...]:
    back = {sign: byte for byte, sign in enumerate(byte_alphabet())}
    found = [b""] * tokenizer.size
    for piece, number in tokenizer.vocabulary().items():
        if number not in tokenizer.special.ids and all(sign in back for sign in piece):
            found[number] = bytes(back[sign] for sign in piece)
    return tuple(found)


def _decoded(tokenizer: Tokenizer, anchor: int | None) -> tuple[bytes, ...]:
    before = [] if anchor is None else [anchor]
    length, special = len(tokenizer.decode(before)), tokenizer.special.ids
    known = set(tokenizer.vocabulary().values()) - special
    return tuple(tokenizer.decode([*before, n])[length:].encode() if n in known else b"" for n in range(tokenizer.size))


def _anchor(tokenizer: Tokenizer) -> int | None:
    """A token that is a plain word, after which the others are spelled as in the midst of a text."""
    numbers = (n for n in tokenizer.vocabulary().values() if n not in tokenizer.special.ids)
    return next((n for n in numbers if tokenizer.decode([n]).isalpha()), None)


# --- words ------------------------------------------------------------------------------------------------------


def stopped(text: str) -> tuple[str, str]:
    """A text before the word it stops in, and that word so far with the space before it."""
    at = _LAST.search(text).start()
    return text[:at], text[at:]


def in_word(text: str) -> bool:
    """Whether a text stops in a word: its last character is a letter."""
    return bool(_IN_WORD.search(text[-1:]))


def finished(begun: str, text: str) -> str | None:
    """The word that `text` makes of the one `begun`, if it surely ends: something follows, or it is one mark."""
    found = (_REST if in_word(begun) else _WORD).match(text, len(begun))
    if found is None or (found.end() == len(text) and in_word(text)):
        return None
    return text[: found.end()]
