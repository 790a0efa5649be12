"""A faster encoder than the Rust library's, for tokenizers trained here: a cache from words to token ids.

No token crosses a word boundary, so that each distinct word is encoded only once: the text is pre-tokenised by
Python's `re`, and a table caches the ids of each word. This takes a half to a tenth of the library's processor time,
but one core only, so that machines with many cores use the library. Both give the same ids (tested).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from firth.config.schema import Tokenizer as Config
from firth.tokenizers.components import byte_alphabet, to_byte_characters
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.split import normalise, split_pretokens, split_words

if TYPE_CHECKING:
    import tokenizers

FastEncoder = Callable[[str], list[int] | None]  # None: this text must go through the library

_CACHE_SIZE = 1 << 18  # words
_MAX_CORES = {"char": 8, "byte": 8}  # with more, the library's threads are faster; other kinds: 2

# Characters outside the blocks on whose normal forms and cases all Unicode versions in use agree.
_VERSION_DEPENDENT = re.compile(
    "[^\0-\u0377\u0400-\u052f\u1e00-\u1eff\u2000-\u2064\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff60]"
)


def build_fast_encoder(config: Config | None, rust: tokenizers.Tokenizer, unknown: int | None) -> FastEncoder | None:
    """The cached encoder, if the tokenizer was trained here and this is faster than the library on this machine."""
    if config is None or (os.cpu_count() or 1) > _MAX_CORES.get(config.model, 2):
        return None
    encode = _ENCODERS.get(config.model, _subword_encoder)(config, rust, unknown)
    plain = (config.unicode_form, config.lowercase) == ("none", "no")
    return encode if plain else partial(_normalise_and_encode, config, encode)


def _normalise_and_encode(config: Config, encode: FastEncoder, text: str) -> list[int] | None:
    if not text.isascii() and _VERSION_DEPENDENT.search(_valid(text)):
        return None
    return encode(normalise(text, config.unicode_form, config.lowercase))


# --- one id per unit ----------------------------------------------------------------------------------


class _Vocabulary(dict[str, int]):
    """The vocabulary without the special tokens; anything else is unknown."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int) -> None:
        super().__init__((unit, i) for unit, i in vocabulary.items() if unit not in SPECIAL_TOKENS)
        self.unknown = unknown

    def __missing__(self, unit: str) -> int:
        return self.unknown


def _byte_encoder(config: Config, rust: tokenizers.Tokenizer, unknown: int | None) -> FastEncoder:
    table = [rust.token_to_id(character) for character in byte_alphabet()]
    return lambda text: [table[byte] for byte in text.encode()]


def _character_encoder(config: Config, rust: tokenizers.Tokenizer, unknown: int) -> FastEncoder:
    table = _Vocabulary(rust.get_vocab(), unknown)
    return lambda text: list(map(table.__getitem__, _valid(text)))


def _word_encoder(config: Config, rust: tokenizers.Tokenizer, unknown: int) -> FastEncoder:
    table = _Vocabulary(rust.get_vocab(), unknown)
    return lambda text: list(map(table.__getitem__, split_words(_valid(text), config.split)))


# --- several ids per word -----------------------------------------------------------------------------


class _WordCache(dict[str, tuple[int, ...]]):
    """The token ids of each word, encoded by the model at its first occurrence."""

    def __init__(self, model: tokenizers.models.Model, spell: Callable[[str], str], unknown: int | None) -> None:
        super().__init__()
        self._model, self._spell, self._unknown = model, spell, unknown

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        if word.startswith(SPECIAL_TOKENS):  # only WordPiece's pre-tokenisation leaves such words
            return (self._unknown,)
        ids = self[word] = tuple(token.id for token in self._model.tokenize(self._spell(word)))
        return ids


def _subword_encoder(config: Config, rust: tokenizers.Tokenizer, unknown: int | None) -> FastEncoder:
    split = split_words if config.model == "wordpiece" else split_pretokens
    cache = _WordCache(rust.model, to_byte_characters if config.model == "byte-bpe" else str, unknown)
    return lambda text: list(chain.from_iterable(map(cache.__getitem__, split(_valid(text), config.split))))


_ENCODERS = {"byte": _byte_encoder, "char": _character_encoder, "word": _word_encoder}


def _valid(text: str) -> str:
    """The text; an error if it has lone surrogates, which the library refuses too."""
    text.encode()
    return text
