"""Where a network that writes has looked: the weights of tokens as those of words, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.text.tokenizer import Encoding


class Looks(NamedTuple):
    """The words of two texts, cut at white space, and how much each one written looks at each one read."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    weights: np.ndarray  # (written, read); rows sum to 1 but for what is looked at beside the words

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """(read, written): each word written with the word that it looks at most."""
        return tuple((int(row.argmax()), number) for number, row in enumerate(self.weights)) if self.read else ()


def looks(read: str, written: str, weights: np.ndarray, tokens: tuple[Encoding, Encoding]) -> Looks:
    """Weights of tokens (written, read) as those of words: summed over what is read, the mean of what is written."""
    columns, rows = (_words(text, each.offsets) for text, each in zip((read, written), tokens, strict=True))
    words = tuple(read.split()), tuple(written.split())
    found = np.zeros((len(words[1]), len(words[0])))
    np.add.at(found, (rows[:, None], columns[None]), weights)
    return Looks(*words, found / np.maximum(np.bincount(rows, minlength=len(words[1])), 1)[:, None])


def _words(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """The number of the word of each token (tokens); of a token that is all white space, that of the word after it."""
    begins = [not char.isspace() and before.isspace() for before, char in zip(f" {text}", text, strict=False)]
    number = np.cumsum([*begins, False]) - 1  # of the word that a character belongs to or comes after
    last = max(int(number[-1]), 0)
    first = [next((place for place in range(a, b) if not text[place].isspace()), b) for a, b in offsets]
    return np.array([min(max(int(number[place]), 0), last) for place in first], np.int64)
