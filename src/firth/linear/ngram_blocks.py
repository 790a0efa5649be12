"""The two blocks of a text's features: word n-grams (of tokens), and character n-grams within words.

Tokens are those of the run's tokenizer. Unknown tokens are in no word n-gram; the characters of their words count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import HashedNgramFeatures, NgramFeatures
from firth.embeddings.fasttext_features import word_splitter
from firth.errors import FirthError
from firth.linear.ngram_vocabulary import HashedNgrams, NgramColumns, NgramVocabulary, count_matrix
from firth.tokenizers.tokenizer import Tokenizer

Features = NgramFeatures | HashedNgramFeatures
CHARACTERS = 0x110000  # code points of Unicode
BOUNDARY = " "  # before and after each word, so that n-grams at its ends differ from those inside


class FoundFeature(NamedTuple):
    """A feature that a text has: its column, and its n-gram."""

    column: int
    name: str


class NgramBlock(Protocol):
    """Neighbouring columns of the matrix."""

    ngrams: NgramColumns

    def counts(self, texts: Sequence[str]) -> csr_array:
        """How often each n-gram is in each text (texts, columns)."""

    def find(self, text: str) -> list[FoundFeature]:
        """The n-grams of a text that have a column, each once."""

    def name(self, column: int) -> str:
        """The n-gram of a column."""


def fit_columns(
    units: np.ndarray, starts: np.ndarray, count: int, longest: int, shortest: int, config: Features
) -> Any:
    """The n-grams of the training texts, exact or hashed."""
    if isinstance(config, HashedNgramFeatures):
        return HashedNgrams(config.buckets, longest, shortest)
    return NgramVocabulary.fit(units, starts, count, longest, shortest)


def _spelled(ngrams: NgramColumns, column: int) -> list[int]:
    if not isinstance(ngrams, NgramVocabulary):
        do = "train with --set features.kind=ngrams, or look at the features of one text"
        raise FirthError("hashed features have no names", where="features.kind", do=do)
    return ngrams.spell(column)


# --- word n-grams ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WordNgrams:
    """N-grams of tokens."""

    tokenizer: Tokenizer
    ngrams: NgramColumns

    @classmethod
    def fit(cls, texts: Sequence[str], tokenizer: Tokenizer, config: Features) -> tuple[WordNgrams, csr_array]:
        """The n-grams of the training texts, and their counts."""
        units = _token_units(texts, tokenizer)
        ngrams = fit_columns(*units, tokenizer.vocab_size, config.word_ngrams, 1, config)
        return cls(tokenizer, ngrams), count_matrix(ngrams, *units)

    def counts(self, texts: Sequence[str]) -> csr_array:
        """How often each n-gram is in each text (texts, columns)."""
        return count_matrix(self.ngrams, *_token_units(texts, self.tokenizer))

    def find(self, text: str) -> list[FoundFeature]:
        """The n-grams of a text that have a column, each once."""
        units, starts = _token_units([text], self.tokenizer)
        names = {
            column: self.tokenizer.decode(units[position : position + each.length].tolist())
            for each in self.ngrams.occurrences(units, starts)
            for position, column in zip(each.positions.tolist(), each.columns.tolist(), strict=True)
        }
        return [FoundFeature(*item) for item in names.items()]

    def name(self, column: int) -> str:
        """The n-gram of a column."""
        return self.tokenizer.decode(_spelled(self.ngrams, column))


def _token_units(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of all texts, -1 for unknown ones, and where each text starts."""
    ids, lengths = tokenizer.encode_flat(texts)
    units = np.frombuffer(ids, np.uint32).astype(np.int64) if len(ids) else np.zeros(0, np.int64)
    units[np.isin(units, list(tokenizer.special.ids))] = -1
    return units, _starts(lengths)


def _starts(lengths: Iterable[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, np.int64))]).astype(np.int64)


# --- character n-grams ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CharacterNgrams:
    """N-grams of characters within words, whose ends count as a character."""

    tokenizer: Tokenizer
    ngrams: NgramColumns

    @classmethod
    def fit(cls, texts: Sequence[str], tokenizer: Tokenizer, config: Features) -> tuple[CharacterNgrams, csr_array]:
        """The n-grams of the training texts, and their counts."""
        words, bags = _word_bags(texts, tokenizer)
        units = _character_units(words)
        ngrams = fit_columns(*units, CHARACTERS, config.max_n, max(1, config.min_n), config)
        return cls(tokenizer, ngrams), _as_counts(bags @ count_matrix(ngrams, *units))

    def counts(self, texts: Sequence[str]) -> csr_array:
        """How often each n-gram is in each text (texts, columns)."""
        words, bags = _word_bags(texts, self.tokenizer)
        return _as_counts(bags @ count_matrix(self.ngrams, *_character_units(words)))

    def find(self, text: str) -> list[FoundFeature]:
        """The n-grams of a text that have a column, each once."""
        words, _ = _word_bags([text], self.tokenizer)
        units, starts = _character_units(words)
        names = {
            column: show_characters(units[position : position + each.length].tolist())
            for each in self.ngrams.occurrences(units, starts)
            for position, column in zip(each.positions.tolist(), each.columns.tolist(), strict=True)
        }
        return [FoundFeature(*item) for item in names.items()]

    def name(self, column: int) -> str:
        """The n-gram of a column."""
        return show_characters(_spelled(self.ngrams, column))


def show_characters(units: Sequence[int]) -> str:
    """A character n-gram as a pattern: un* begins a word, *ing ends one, *oo* is inside."""
    text = "".join(map(chr, units))
    inside = text.removeprefix(BOUNDARY).removesuffix(BOUNDARY)
    return "*" * (not text.startswith(BOUNDARY)) + inside + "*" * (not text.endswith(BOUNDARY) or text == BOUNDARY)


def _word_bags(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[list[str], csr_array]:
    """The different words of some texts, and how often each is in each text (texts, words)."""
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(word, len(numbers)) for word in words] for words in word_splitter(tokenizer)(texts)]
    flat = np.fromiter(chain.from_iterable(rows), np.int32)
    starts = _starts(map(len, rows))
    bags = csr_array((np.ones(len(flat), np.float32), flat, starts), shape=(len(texts), len(numbers)))
    bags.sum_duplicates()
    return list(numbers), bags


def _character_units(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The code points of all words between boundaries, and where each starts."""
    framed = [f"{BOUNDARY}{word}{BOUNDARY}" for word in words]
    units = np.frombuffer("".join(framed).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    return units, _starts(map(len, framed))


def _as_counts(matrix: csr_array) -> csr_array:
    """The product with sorted columns."""
    matrix.sort_indices()
    return matrix


# --- files ----------------------------------------------------------------------------------------------------------


def select(block: Any, kept: np.ndarray) -> Any:
    """A block with only these of its columns (a mask)."""
    return replace(block, ngrams=block.ngrams.select(kept))


def describe(block: NgramBlock) -> Mapping[str, Any]:
    """What a file must say of a block besides its arrays: the number of n-grams of each length."""
    ngrams = block.ngrams
    return {"sizes": [len(level) for level in ngrams.keys]} if isinstance(ngrams, NgramVocabulary) else {}
