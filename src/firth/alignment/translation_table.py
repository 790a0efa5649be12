"""The lexical translation table t(target | source): a sparse row per source word of the target words it co-occurs with.

Memory: 8 bytes for each pair of words that co-occur in a pair of texts, and 8 more for each buffer of counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firth.alignment import em_kernels
from firth.alignment.bitext import Bitext
from firth.errors import FirthError

Smoothing = Literal["none", "additive", "variational"]


@dataclass(frozen=True, eq=False)
class TranslationTable:
    """P(target word | source word); the last row is that of NULL, which generates unaligned target words."""

    starts: np.ndarray  # (rows + 1,) int64
    targets: np.ndarray  # (cells,) int32, sorted within a row
    probabilities: np.ndarray  # (cells,) float32
    unseen: np.ndarray  # (rows,) float32: the probability of any target word that is not in the row
    num_targets: int  # distinct target words, plus one for all others

    @property
    def null(self) -> int:
        """The row index of NULL."""
        return len(self.unseen) - 1

    def update(self, counts: np.ndarray, smoothing: Smoothing, strength: float) -> None:
        """M-step: re-estimate the probabilities from expected counts, in place."""
        prior = 0.0 if smoothing == "none" else strength
        em_kernels.normalise(
            self.starts, counts, prior, self.num_targets, smoothing == "variational", self.probabilities, self.unseen
        )

    def row(self, word: int) -> tuple[np.ndarray, np.ndarray]:
        """The target words of a source word, and their probabilities."""
        low, high = self.starts[word : word + 2]
        return self.targets[low:high], self.probabilities[low:high]


def build_table(bitext: Bitext, vocab_size: int, same: float = 1.0) -> TranslationTable:
    """Build the table of all co-occurring word pairs, uniform at first; identical words are `same` times likelier."""
    source, target = bitext.source, bitext.target
    order = np.argsort(source.ids, kind="stable")
    occurrence_starts = np.append(0, np.cumsum(np.bincount(source.ids, minlength=vocab_size))).astype(np.int64)
    text_of = np.repeat(np.arange(len(bitext)), source.lengths)
    starts, no_output = np.zeros(vocab_size + 2, np.int64), np.empty(0, np.int32)
    target_words = np.unique(target.ids)

    def collect(row_starts: np.ndarray, out: np.ndarray) -> None:
        seen = np.full(vocab_size, -1, np.int64)
        texts = order, occurrence_starts, text_of, target.ids, target.starts
        em_kernels.collect_cooccurrences(*texts, seen, row_starts, out)

    collect(starts, no_output)
    starts[-1] = len(target_words)
    starts = np.cumsum(starts)
    if starts[-1] >= 2**31:
        what = f"{starts[-1]:,} co-occurring word pairs are too many (at most {2**31 - 1:,})"
        raise FirthError(what, do="give less text, or raise tokenizer.min_count")
    targets = np.empty(starts[-1], np.int32)
    collect(starts, targets[: starts[-2]])
    targets[starts[-2] :] = target_words
    rows = np.repeat(np.arange(vocab_size + 1), np.diff(starts))
    targets = np.sort(rows * vocab_size + targets) % vocab_size  # sorted within each row
    probabilities, unseen = np.empty(len(targets), np.float32), np.empty(vocab_size + 1, np.float32)
    table = TranslationTable(starts, targets.astype(np.int32), probabilities, unseen, len(target_words) + 1)
    table.update(np.where(rows == targets, same - 1.0, 0.0), "additive", 1.0)
    return table
