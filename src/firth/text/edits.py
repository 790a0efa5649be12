"""How many slips of the pen lie between a word and each word of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_FILL = 0  # after a word's last character; no word contains it


@dataclass(frozen=True, eq=False)
class Words:
    """Words as a table of characters, for comparing all of them at once."""

    codes: np.ndarray  # (words, longest) uint32
    lengths: np.ndarray  # (words,)

    @classmethod
    def of(cls, words: Sequence[str]) -> Words:
        """The table of these words, in their order."""
        lengths = np.array([len(word) for word in words], np.int64)
        codes = np.full((len(words), int(lengths.max(initial=0))), _FILL, np.uint32)
        for row, word in zip(codes, words, strict=True):
            row[: len(word)] = [ord(character) for character in word]
        return cls(codes, lengths)

    def near(self, word: str, most: int) -> list[tuple[int, int]]:
        """The number of each word at most so many edits away, with its edits."""
        close = np.flatnonzero(np.abs(self.lengths - len(word)) <= most)
        found = distances(word, self.codes[close], self.lengths[close])
        kept = found <= most
        return list(zip(close[kept].tolist(), found[kept].tolist(), strict=True))


def distances(word: str, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Insertions, deletions, exchanges and swaps of neighbours that lead from a word to each of many (Damerau 1964).

    No stretch is edited twice (the restricted distance).
    """
    rows, width = codes.shape
    before, last = None, np.broadcast_to(np.arange(width + 1), (rows, width + 1))
    for i, character in enumerate(map(ord, word)):
        row = np.empty((rows, width + 1), np.int64)
        row[:, 0] = i + 1
        for j in range(width):
            other = codes[:, j]
            row[:, j + 1] = np.minimum(np.minimum(last[:, j + 1], row[:, j]) + 1, last[:, j] + (other != character))
            if before is not None and j:
                swapped = (other == ord(word[i - 1])) & (codes[:, j - 1] == character)
                row[:, j + 1] = np.where(swapped, np.minimum(row[:, j + 1], before[:, j - 1] + 1), row[:, j + 1])
        before, last = last, row
    return last[np.arange(rows), lengths]
