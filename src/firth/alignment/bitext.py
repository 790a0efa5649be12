"""Parallel text (a bitext) as token ids, with the whitespace-separated word that each token belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from firth.tokenizers.tokenizer import Tokenizer

NO_LIMIT = 2**62  # tokens


@dataclass(frozen=True, eq=False)
class Side:
    """The texts of one language, back to back."""

    ids: np.ndarray  # (tokens,) int32
    starts: np.ndarray  # (texts + 1,) int64
    words: np.ndarray  # (tokens,) int32: index of the whitespace-separated word in its text

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text."""
        return np.diff(self.starts)

    def select(self, keep: np.ndarray) -> Side:
        """The texts for which `keep` is true."""
        tokens = np.repeat(keep, self.lengths)
        return Side(self.ids[tokens], _offsets(self.lengths[keep]), self.words[tokens])


@dataclass(frozen=True, eq=False)
class Bitext:
    """Source texts and their translations; an alignment model generates the target from the source."""

    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source.starts) - 1

    @property
    def reversed(self) -> Bitext:
        """The same pairs with source and target exchanged."""
        return Bitext(self.target, self.source)

    def usable(self, max_length: int = NO_LIMIT) -> np.ndarray:
        """(pairs,) bool: both sides have at least one and at most `max_length` tokens."""
        source, target = self.source.lengths, self.target.lengths
        return (np.minimum(source, target) > 0) & (np.maximum(source, target) <= max_length)

    def select(self, keep: np.ndarray) -> Bitext:
        """The pairs for which `keep` is true."""
        return Bitext(self.source.select(keep), self.target.select(keep))


def encode(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Bitext:
    """Tokenise pairs of texts."""
    return Bitext(*(encode_side([pair[side] for pair in pairs], tokenizer) for side in (0, 1)))


def encode_side(texts: Iterable[str], tokenizer: Tokenizer) -> Side:
    """Tokenise texts word by word, so that links can be given as indices of whitespace-separated words."""
    split_texts = [text.split() for text in texts]
    words = list(dict.fromkeys(chain.from_iterable(split_texts)))
    token_ids = dict(zip(words, tokenizer.encode_batch(words), strict=True))
    ids, word_indices, lengths = [], [], []
    for text in split_texts:
        start = len(ids)
        for index, word in enumerate(text):
            tokens = token_ids[word]
            ids += tokens
            word_indices += [index] * len(tokens)
        lengths.append(len(ids) - start)
    return Side(np.array(ids, np.int32), _offsets(np.array(lengths, np.int64)), np.array(word_indices, np.int32))


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)
