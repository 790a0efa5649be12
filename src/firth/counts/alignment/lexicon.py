"""The table of translation probabilities: a row for each source word, with the target words it was ever met with.

Memory: 8 bytes for each pair of words that occur in a pair of texts, and 8 more for each buffer of counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firth.counts.alignment import kernels
from firth.counts.alignment.bitext import Bitext
from firth.errors import FirthError

Smoothing = Literal["none", "additive", "variational"]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """P(target word | source word); the last row is NULL's, the source of words that come from none."""

    starts: np.ndarray  # (rows + 1,) int64
    targets: np.ndarray  # (cells,) int32, sorted within a row
    chances: np.ndarray  # (cells,) float32
    rests: np.ndarray  # (rows,) float32: of a target word that the row does not have
    size: int  # different target words, and one for all others

    @property
    def null(self) -> int:
        """The row of NULL."""
        return len(self.rests) - 1

    def update(self, counts: np.ndarray, smoothing: Smoothing, strength: float) -> None:
        """The M-step: new probabilities from expected counts, in place."""
        added = 0.0 if smoothing == "none" else strength
        kernels.normalise(self.starts, counts, added, self.size, smoothing == "variational", self.chances, self.rests)

    def row(self, word: int) -> tuple[np.ndarray, np.ndarray]:
        """The target words of a source word, and their probabilities."""
        low, high = self.starts[word : word + 2]
        return self.targets[low:high], self.chances[low:high]


def gather(bitext: Bitext, vocabulary: int, same: float = 1.0) -> Lexicon:
    """All pairs of words that occur together; all words alike, but the same spelling so many times as probable."""
    left, right = bitext.left, bitext.right
    order = np.argsort(left.ids, kind="stable")
    word_starts = np.append(0, np.cumsum(np.bincount(left.ids, minlength=vocabulary))).astype(np.int64)
    text_of = np.repeat(np.arange(len(bitext)), left.lengths)
    starts, none = np.zeros(vocabulary + 2, np.int64), np.empty(0, np.int32)
    words = np.unique(right.ids)

    def meet(rows: np.ndarray, found: np.ndarray) -> None:
        seen = np.full(vocabulary, -1, np.int64)
        kernels.meet(order, word_starts, text_of, right.ids, right.starts, seen, rows, found)

    meet(starts, none)
    starts[-1] = len(words)
    starts = np.cumsum(starts)
    if starts[-1] >= 2**31:
        what = f"{starts[-1]:,} pairs of words that occur together are too many"
        raise FirthError(what, do="give less text, or raise tokenizer.min_count")
    targets = np.empty(starts[-1], np.int32)
    meet(starts, targets[: starts[-2]])
    targets[starts[-2] :] = words
    rows = np.repeat(np.arange(vocabulary + 1), np.diff(starts))
    targets = np.sort(rows * vocabulary + targets) % vocabulary  # sorted within each row
    chances, rests = np.empty(len(targets), np.float32), np.empty(vocabulary + 1, np.float32)
    found = Lexicon(starts, targets.astype(np.int32), chances, rests, len(words) + 1)
    found.update(np.where(rows == targets, same - 1.0, 0.0), "additive", 1.0)
    return found
