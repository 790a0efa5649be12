"""The text that each token adds, and word boundaries: for word completion of a text that ends inside a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.tokenizers.components import byte_alphabet
from firth.tokenizers.regexes import IDEOGRAPHS, PUNCTUATION, SPACE
from firth.tokenizers.tokenizer import Tokenizer

_LETTER = f"[^{SPACE}{PUNCTUATION}{IDEOGRAPHS}]"
_REST = re.compile(f"{_LETTER}*")  # of a partial word
_WORD = re.compile(f"[{SPACE}]*(?:{_LETTER}+|[{IDEOGRAPHS}]|[{PUNCTUATION}])")  # a new word, or one punctuation mark
_PARTIAL = re.compile(f" ?{_LETTER}*\\Z")  # the partial word at the end with its space; a space; or nothing
_IN_WORD = re.compile(f"{_LETTER}\\Z")


@dataclass(frozen=True, eq=False)
class TokenBytes:
    """The bytes that each token adds to a text; none for special tokens."""

    tokens: tuple[bytes, ...]

    @cached_property
    def non_empty(self) -> np.ndarray:
        """Which tokens add any bytes (vocab_size,)."""
        return self.matching(bool)

    @cached_property
    def continues_word(self) -> np.ndarray:
        """Which tokens continue a partial word (vocab_size,); an incomplete UTF-8 character counts as a letter."""
        return self.matching(lambda text: bool(text) and _is_letter(text))

    def matching(self, predicate: Callable[[bytes], bool]) -> np.ndarray:
        """The tokens whose bytes satisfy the predicate, as a mask (vocab_size,)."""
        return np.fromiter(map(predicate, self.tokens), bool, len(self.tokens))


@dataclass(frozen=True, eq=False)
class TokenSpelling:
    """The bytes that tokens add inside a text and at its start."""

    inside: TokenBytes
    initial: TokenBytes
    adds_space: bool  # decoding puts a space before every word, whatever the text had there


def token_spelling(tokenizer: Tokenizer) -> TokenSpelling:
    """The spelling of a tokenizer's tokens; byte-level tokens may be parts of a character."""
    if tokenizer.kind in ("byte", "byte-bpe"):
        table = TokenBytes(_byte_level_bytes(tokenizer))
        return TokenSpelling(table, table, False)
    inside = TokenBytes(_decoded_bytes(tokenizer, _anchor(tokenizer)))
    initial = TokenBytes(_decoded_bytes(tokenizer, None))
    return TokenSpelling(inside, initial, tokenizer.kind in ("word", "wordpiece"))


def _is_letter(text: bytes) -> bool:
    start = text[:8].decode(errors="ignore")  # at most the last character is lost
    return not start or bool(_IN_WORD.match(start[0]))


def _byte_level_bytes(tokenizer: Tokenizer) -> tuple[bytes, ...]:
    to_byte = {character: byte for byte, character in enumerate(byte_alphabet())}
    table = [b""] * tokenizer.vocab_size
    for token, i in tokenizer.vocabulary().items():
        if i not in tokenizer.special.ids and all(character in to_byte for character in token):
            table[i] = bytes(to_byte[character] for character in token)
    return tuple(table)


def _decoded_bytes(tokenizer: Tokenizer, anchor: int | None) -> tuple[bytes, ...]:
    before = [] if anchor is None else [anchor]
    length, special = len(tokenizer.decode(before)), tokenizer.special.ids
    known = set(tokenizer.vocabulary().values()) - special
    ids = range(tokenizer.vocab_size)
    return tuple(tokenizer.decode([*before, i])[length:].encode() if i in known else b"" for i in ids)


def _anchor(tokenizer: Tokenizer) -> int | None:
    """A token that is a plain word: tokens decoded after it are spelled as inside a text."""
    ids = (i for i in tokenizer.vocabulary().values() if i not in tokenizer.special.ids)
    return next((i for i in ids if tokenizer.decode([i]).isalpha()), None)


# --- words ------------------------------------------------------------------------------------------------------


def split_partial_word(text: str) -> tuple[str, str]:
    """The text before its last, partial word, and that word with the space before it."""
    start = _PARTIAL.search(text).start()
    return text[:start], text[start:]


def ends_in_word(text: str) -> bool:
    """Whether the last character of a text is a letter, so that more letters would continue the word."""
    return bool(_IN_WORD.search(text[-1:]))


def completed_word(partial: str, text: str) -> str | None:
    """The word that `text` makes of `partial`, if it is complete: something follows, or it is a punctuation mark."""
    match = (_REST if ends_in_word(partial) else _WORD).match(text, len(partial))
    if match is None or (match.end() == len(text) and ends_in_word(text)):
        return None
    return text[: match.end()]
