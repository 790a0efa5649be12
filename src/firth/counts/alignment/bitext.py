"""Pairs of texts as token numbers, and which word between blanks each token belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from firth.text.tokenizer import Tokenizer

ENDLESS = 2**62  # words


@dataclass(frozen=True, eq=False)
class Side:
    """The texts of one language, one after the other."""

    ids: np.ndarray  # (tokens,) int32
    starts: np.ndarray  # (texts + 1,) int64
    words: np.ndarray  # (tokens,) int32: which word of its text, words counted between blanks

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text."""
        return np.diff(self.starts)

    def chosen(self, kept: np.ndarray) -> Side:
        """The texts for which `kept` is true."""
        tokens = np.repeat(kept, self.lengths)
        return Side(self.ids[tokens], _borders(self.lengths[kept]), self.words[tokens])


@dataclass(frozen=True, eq=False)
class Bitext:
    """Texts and what they are in another language; `left` is read, `right` is explained by it."""

    left: Side
    right: Side

    def __len__(self) -> int:
        return len(self.left.starts) - 1

    @property
    def turned(self) -> Bitext:
        """The same the other way round."""
        return Bitext(self.right, self.left)

    def usable(self, longest: int = ENDLESS) -> np.ndarray:
        """(pairs,) which have words on both sides, and not too many."""
        left, right = self.left.lengths, self.right.lengths
        return (np.minimum(left, right) > 0) & (np.maximum(left, right) <= longest)

    def chosen(self, kept: np.ndarray) -> Bitext:
        """The pairs for which `kept` is true."""
        return Bitext(self.left.chosen(kept), self.right.chosen(kept))


def encode(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Bitext:
    """Pairs of texts as tokens."""
    return Bitext(*(encode_side([pair[side] for pair in pairs], tokenizer) for side in (0, 1)))


def encode_side(texts: Iterable[str], tokenizer: Tokenizer) -> Side:
    """Texts as tokens, each word between blanks by itself, so that links can be told in numbers of such words."""
    cut = [text.split() for text in texts]
    words = list(dict.fromkeys(chain.from_iterable(cut)))
    known = dict(zip(words, tokenizer.encode_batch(words), strict=True))
    ids, places, lengths = [], [], []
    for text in cut:
        before = len(ids)
        for place, word in enumerate(text):
            found = known[word]
            ids += found
            places += [place] * len(found)
        lengths.append(len(ids) - before)
    return Side(np.array(ids, np.int32), _borders(np.array(lengths, np.int64)), np.array(places, np.int32))


def _borders(lengths: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)
