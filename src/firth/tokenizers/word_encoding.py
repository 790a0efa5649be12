"""Sentences of words that are split already, as tokens: gold words in, the same words out.

Each word is encoded by itself, with the white space or word-initial mark (Ġ, ▁) that it has in running text. So its
tokens never depend on the words beside it, and no token belongs to two words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from firth.errors import FirthError

Offsets = list[tuple[int, int]]
EncodeBatch = Callable[[Sequence[str]], list[tuple[list[int], Offsets]]]  # ids, and offsets in the original text

_CACHE_SIZE = 1 << 18  # words
_PROBES = ("a", "的", "1")  # words whose tokens in running text show what stands before a word


@dataclass(frozen=True)
class WordTokens:
    """The tokens of a sentence of words; every word that is not left out has at least one."""

    ids: list[int]
    word_of: list[int]  # the number of each token's word in the sentence, ascending
    offsets: Offsets  # of each token's characters in its word; a token of white space alone has none: (0, 0)
    words: int  # in the sentence
    left_out: int = 0  # words at its end that `truncate` left out
    cut: int = 0  # tokens that the first word lost because it alone was too long

    def truncate(self, length: int) -> WordTokens:
        """The first words that have together at most so many tokens; what is left out is counted."""
        if len(self.ids) <= length:
            return self
        kept, lost = length, 0
        if length > 0 and self.word_of[length] == self.word_of[0]:
            lost = self.word_of.count(self.word_of[0]) - length
        else:
            while kept and self.word_of[kept - 1] == self.word_of[length]:
                kept -= 1
        left_out = self.words - (self.word_of[kept - 1] + 1 if kept else 0)
        parts = self.ids[:kept], self.word_of[:kept], self.offsets[:kept]
        return WordTokens(*parts, self.words, left_out, lost)


class _Pieces(NamedTuple):
    """The tokens of one word."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


class WordEncoder:
    """Encodes words one by one, each spelling once; `unknown` stands for a word that normalises to nothing."""

    def __init__(self, encode: EncodeBatch, unknown: int) -> None:
        self._encode, self._unknown = encode, unknown
        self._prefix, self._skipped = _running_text_prefix(encode)
        self._cache: dict[str, _Pieces] = {}

    def __call__(self, sentences: Iterable[Sequence[str]]) -> list[WordTokens]:
        """The tokens of each sentence."""
        sentences = [_checked(number, words) for number, words in enumerate(sentences)]
        if len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
        new = [word for word in dict.fromkeys(chain.from_iterable(sentences)) if word not in self._cache]
        encoded = self._encode([self._prefix + word for word in new]) if new else []
        for word, (ids, offsets) in zip(new, encoded, strict=True):
            self._cache[word] = self._pieces(word, ids[self._skipped :], offsets[self._skipped :])
        return [self._sentence([self._cache[word] for word in words]) for words in sentences]

    def _pieces(self, word: str, ids: list[int], offsets: Offsets) -> _Pieces:
        start, end = len(self._prefix), len(word)
        if all(b <= start for _, b in offsets):  # nothing is left of the word itself
            return _Pieces((self._unknown,), ((0, end),))
        inside = tuple((max(a - start, 0), min(max(b - start, 0), end)) for a, b in offsets)
        return _Pieces(tuple(ids), inside)

    @staticmethod
    def _sentence(words: list[_Pieces]) -> WordTokens:
        ids = list(chain.from_iterable(word.ids for word in words))
        word_of = [number for number, word in enumerate(words) for _ in word.ids]
        return WordTokens(ids, word_of, list(chain.from_iterable(word.offsets for word in words)), len(words))


def _running_text_prefix(encode: EncodeBatch) -> tuple[str, int]:
    """What to put before a word so that its tokens are those of running text, and how many tokens that itself has:
    nothing if the tokenizer drops white space or marks every word, a space if white space begins a token, and another
    word where a space at the beginning of a text is dropped."""
    for probe in _PROBES:
        first, spaced, running = (ids for ids, _ in encode([probe, f" {probe}", f"{probe} {probe}"]))
        second = running[len(first) :]
        if running[: len(first)] != first or not second:
            continue
        if second == first:
            return "", 0
        return (" ", 0) if second == spaced else (f"{probe} ", len(first))
    return "", 0


def _checked(number: int, words: Sequence[str]) -> Sequence[str]:
    if isinstance(words, str):
        raise FirthError(f"sentence {number} is a text, not words", do="give each sentence as a list of words")
    for word in words:
        if not isinstance(word, str):
            raise FirthError(f"sentence {number} has a {type(word).__name__} among its words", do="give strings")
    return words
