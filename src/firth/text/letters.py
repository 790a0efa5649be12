"""Words as the bytes they are written in, for networks that read or spell words that a vocabulary lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PAD, END = 0, 1
SIZE = 2 + 256  # bytes come after the marks
LONGEST = 96  # bytes of a word, with its end; longer ones are cut


def spell(word: str) -> np.ndarray:
    """The bytes of a word, closed by END and filled up with PAD (LONGEST)."""
    found = np.full(LONGEST, PAD, np.int64)
    letters = np.frombuffer(word.encode(), np.uint8)[: LONGEST - 1]
    found[: len(letters)], found[len(letters)] = letters.astype(np.int64) + 2, END
    return found


def read(letters: Sequence[int]) -> str:
    """The word of such bytes; what is no text is left out."""
    return bytes(letter - 2 for letter in letters if letter > END).decode(errors="ignore")
