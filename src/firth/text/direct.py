"""A faster way than the library's own from text to ids, for files that are exactly ours.

Nothing crosses a border between words, so that a word's ids need finding only once: the text is cut by
Python's `re`, and a table remembers the ids of each word. That takes a half to a tenth of the library's
processor time, but one core only, so the library is left to machines with many. Both ways give the same
ids (a test says so).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from firth.config.schema import Tokenizer as Config
from firth.text.normalise import normalise
from firth.text.pipeline import byte_alphabet, byte_spelling
from firth.text.special import NAMES
from firth.text.split import parts, whole

if TYPE_CHECKING:
    import tokenizers

Direct = Callable[[str], list[int] | None]  # None: this text must go through the library

_REMEMBERED = 1 << 18  # words
_CORES = {"char": 8, "byte": 8}  # with more, the library's threads are faster than one table; others: 2

# Outside the blocks whose normal forms and cases every version of Unicode in use agrees on.
_UNSETTLED = re.compile(
    "[^\0-\u0377\u0400-\u052f\u1e00-\u1eff\u2000-\u2064\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff60]"
)


def direct(config: Config | None, rust: tokenizers.Tokenizer, unknown: int | None) -> Direct | None:
    """Text to ids by table, if the file is ours and the table is the faster way here."""
    if config is None or (os.cpu_count() or 1) > _CORES.get(config.model, 2):
        return None
    find = _FIND.get(config.model, _by_pieces)(config, rust, unknown)
    return find if (config.normal, config.lower) == ("none", "no") else partial(_normalised, config, find)


def _normalised(config: Config, find: Direct, text: str) -> list[int] | None:
    if not text.isascii() and _UNSETTLED.search(_valid(text)):
        return None
    return find(normalise(text, config.normal, config.lower))


# --- one id to a unit ---------------------------------------------------------------------------------


class _Vocabulary(dict[str, int]):
    """The vocabulary without the special tokens; anything else is unknown."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int) -> None:
        super().__init__((unit, i) for unit, i in vocabulary.items() if unit not in NAMES)
        self.unknown = unknown

    def __missing__(self, unit: str) -> int:
        return self.unknown


def _by_byte(config: Config, rust: tokenizers.Tokenizer, unknown: int | None) -> Direct:
    table = [rust.token_to_id(sign) for sign in byte_alphabet()]
    return lambda text: [table[byte] for byte in text.encode()]


def _by_character(config: Config, rust: tokenizers.Tokenizer, unknown: int) -> Direct:
    table = _Vocabulary(rust.get_vocab(), unknown)
    return lambda text: list(map(table.__getitem__, _valid(text)))


def _by_word(config: Config, rust: tokenizers.Tokenizer, unknown: int) -> Direct:
    table = _Vocabulary(rust.get_vocab(), unknown)
    return lambda text: list(map(table.__getitem__, whole(_valid(text), config.split)))


# --- several ids to a word ----------------------------------------------------------------------------


class _Remembered(dict[str, tuple[int, ...]]):
    """The ids of each word, found by the model when it first comes."""

    def __init__(self, model: tokenizers.models.Model, spelling: Callable[[str], str], unknown: int | None) -> None:
        super().__init__()
        self._model, self._spelling, self._unknown = model, spelling, unknown

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        if word.startswith(NAMES):  # only WordPiece sees such words
            return (self._unknown,)
        found = self[word] = tuple(token.id for token in self._model.tokenize(self._spelling(word)))
        return found


def _by_pieces(config: Config, rust: tokenizers.Tokenizer, unknown: int | None) -> Direct:
    cut = whole if config.model == "wordpiece" else parts
    table = _Remembered(rust.model, byte_spelling if config.model == "byte-bpe" else str, unknown)
    return lambda text: list(chain.from_iterable(map(table.__getitem__, cut(_valid(text), config.split))))


_FIND = {"byte": _by_byte, "char": _by_character, "word": _by_word}


def _valid(text: str) -> str:
    """The text, refused if it holds half of a surrogate pair, as the library refuses it."""
    text.encode()
    return text
