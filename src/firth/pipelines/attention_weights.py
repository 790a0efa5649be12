"""Cross attention weights between tokens as weights between words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.tokenizers.tokenizer import Encoding


class WordAttention(NamedTuple):
    """The words of a source and a target text, split at white space, and their attention weights."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (target, source); rows sum to 1 but for the weight of special tokens

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """(source, target): each target word with the source word that it attends to most."""
        return tuple((int(row.argmax()), number) for number, row in enumerate(self.weights)) if self.source else ()


def word_attention(
    source: str, target: str, weights: np.ndarray, encodings: tuple[Encoding, Encoding]
) -> WordAttention:
    """Word weights from token weights (target, source): summed over source tokens, the mean over target tokens."""
    columns, rows = (_word_indices(text, each.offsets) for text, each in zip((source, target), encodings, strict=True))
    words = tuple(source.split()), tuple(target.split())
    sums = np.zeros((len(words[1]), len(words[0])))
    np.add.at(sums, (rows[:, None], columns[None]), weights)
    return WordAttention(*words, sums / np.maximum(np.bincount(rows, minlength=len(words[1])), 1)[:, None])


def _word_indices(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """The index of each token's word (tokens,); a token that is all white space belongs to the word after it."""
    starts = [not char.isspace() and before.isspace() for before, char in zip(f" {text}", text, strict=False)]
    word_of = np.cumsum([*starts, False]) - 1  # of each character: the word that it belongs to or comes after
    last = max(int(word_of[-1]), 0)
    first = [next((at for at in range(a, b) if not text[at].isspace()), b) for a, b in offsets]
    return np.array([min(max(int(word_of[at]), 0), last) for at in first], np.int64)
