"""How sure a score is: the same score of texts drawn anew from those there are (Efron 1979; Koehn 2004)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DRAWS = 1000
_AT_ONCE = 1 << 22  # numbers drawn together


class Interval(NamedTuple):
    """Where a value lies in 95 of 100 draws."""

    low: float
    high: float


def resampled(totals: np.ndarray, sizes: np.ndarray, seed: int, draws: int = DRAWS) -> np.ndarray:
    """Scores (draws, systems) of texts drawn with replacement: the sum of totals (systems, texts) over that of sizes.

    All systems are scored on the same draws, so that differences between them can be taken draw by draw.
    """
    count = len(sizes)
    stream = np.random.Generator(np.random.Philox(key=seed))
    together = np.vstack([totals, sizes]).T.astype(np.float64)  # (texts, systems + 1)
    found = np.empty((draws, together.shape[1]))
    block = max(1, _AT_ONCE // count)
    for start in range(0, draws, block):
        chosen = stream.integers(count, size=(min(block, draws - start), count))
        times = np.stack([np.bincount(row, minlength=count) for row in chosen])  # (draws, texts)
        found[start : start + len(chosen)] = times @ together
    return found[:, :-1] / found[:, -1:]


def interval(values: np.ndarray) -> Interval:
    """The middle 95 of 100 of the values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(low), float(high))
