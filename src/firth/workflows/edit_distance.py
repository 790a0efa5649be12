"""Damerau–Levenshtein edit distance between a word and all words of a list at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_PADDING = 0  # after a word's last character; no word contains it


@dataclass(frozen=True, eq=False)
class WordMatrix:
    """Words as a padded matrix of characters, for comparing all of them at once."""

    codes: np.ndarray  # (words, longest) uint32
    lengths: np.ndarray  # (words,)

    @classmethod
    def from_words(cls, words: Sequence[str]) -> WordMatrix:
        """Build the table of these words, in their order."""
        lengths = np.array([len(word) for word in words], np.int64)
        codes = np.full((len(words), int(lengths.max(initial=0))), _PADDING, np.uint32)
        for row, word in zip(codes, words, strict=True):
            row[: len(word)] = [ord(character) for character in word]
        return cls(codes, lengths)

    def within(self, word: str, max_distance: int) -> list[tuple[int, int]]:
        """Return (index, distance) of each word at most `max_distance` edits away."""
        close = np.flatnonzero(np.abs(self.lengths - len(word)) <= max_distance)
        distances = edit_distances(word, self.codes[close], self.lengths[close])
        is_near = distances <= max_distance
        return list(zip(close[is_near].tolist(), distances[is_near].tolist(), strict=True))


def edit_distances(word: str, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Insertions, deletions, substitutions and transpositions from a word to each of many (Damerau 1964).

    No substring is edited twice (the restricted distance: optimal string alignment).
    """
    rows, width = codes.shape
    previous_row, last_row = None, np.broadcast_to(np.arange(width + 1), (rows, width + 1))
    for i, character in enumerate(map(ord, word)):
        row = np.empty((rows, width + 1), np.int64)
        row[:, 0] = i + 1
        for j in range(width):
            characters = codes[:, j]
            row[:, j + 1] = np.minimum(
                np.minimum(last_row[:, j + 1], row[:, j]) + 1, last_row[:, j] + (characters != character)
            )
            if previous_row is not None and j:
                swapped = (characters == ord(word[i - 1])) & (codes[:, j - 1] == character)
                row[:, j + 1] = np.where(swapped, np.minimum(row[:, j + 1], previous_row[:, j - 1] + 1), row[:, j + 1])
        previous_row, last_row = last_row, row
    return last_row[np.arange(rows), lengths]
