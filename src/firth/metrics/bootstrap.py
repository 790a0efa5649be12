"""How sure a score is: the same score of texts drawn anew from those there are (Efron 1979; Koehn 2004).

And how sure a difference of two systems is: on the same draws, or with their texts swapped by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from firth.metrics.counted import Counted

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
    together = np.vstack([totals, sizes]).T.astype(np.float64)  # (texts, systems + 1)
    found = np.concatenate([times @ together for times in _times(len(sizes), seed, draws)])
    return found[:, :-1] / found[:, -1:]


def _times(count: int, seed: int, draws: int) -> Iterator[np.ndarray]:
    """How often each text is in each draw (draws, texts), in blocks."""
    stream = np.random.Generator(np.random.Philox(key=seed))
    block = max(1, _AT_ONCE // count)
    for start in range(0, draws, block):
        chosen = stream.integers(count, size=(min(block, draws - start), count))
        yield np.stack([np.bincount(row, minlength=count) for row in chosen])


def interval(values: np.ndarray) -> Interval:
    """The middle 95 of 100 of the values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(low), float(high))


# --- scores that are worked out of sums, and two systems ----------------------------------------------------------


class Paired(NamedTuple):
    """A second system against a first one on the same draws of texts."""

    difference: float  # of all texts: the second's score less the first's
    interval: Interval  # of the difference
    wins: float  # share of draws in which the second is better; ties are half (Koehn 2004)
    p: float  # how often a difference so large, either way, comes up by drawing where there is none
    draws: int


class Swapped(NamedTuple):
    """A second system against a first one, their texts swapped by chance."""

    difference: float
    p: float  # how often swapping makes a difference so large, either way
    draws: int


def redrawn(counted: Counted, seed: int = 0, draws: int = DRAWS) -> np.ndarray:
    """Scores (draws) of texts drawn with replacement, each from the sum of their counts."""
    blocks = _times(len(counted.rows), seed, draws)
    return _scores(counted.value, np.concatenate([times @ counted.rows for times in blocks]))


def paired(first: Counted, second: Counted, seed: int = 0, draws: int = DRAWS) -> Paired:
    """The paired bootstrap (Koehn 2004), two-sided: both systems are scored on the same draws.

    Draws scatter around the difference that was found; how they would scatter around none is told by moving them.
    """
    _match(first, second)
    found = redrawn(second, seed, draws) - redrawn(first, seed, draws)
    difference = second.value(second.total) - first.value(first.total)
    extreme = int((np.abs(found - found.mean()) >= _slightly_below(abs(difference))).sum())
    wins = float((found > 0).mean() + (found == 0).mean() / 2)
    return Paired(difference, interval(found), wins, (extreme + 1) / (draws + 1), draws)


def swapped(first: Counted, second: Counted, seed: int = 0, draws: int = DRAWS) -> Swapped:
    """Approximate randomisation (Noreen 1989; Riezler and Maxwell 2005), two-sided: if neither system were better,
    it would not matter which of the two wrote which text."""
    _match(first, second)
    both, apart = first.total + second.total, second.rows - first.rows
    ours = np.concatenate([first.total + swaps @ apart for swaps in _swaps(len(apart), seed, draws)])
    found = _scores(first.value, both - ours) - _scores(first.value, ours)
    difference = second.value(second.total) - first.value(first.total)
    extreme = int((np.abs(found) >= _slightly_below(abs(difference))).sum())
    return Swapped(difference, (extreme + 1) / (draws + 1), draws)


def _swaps(count: int, seed: int, draws: int) -> Iterator[np.ndarray]:
    """Which texts change hands in each trial (draws, texts), in blocks."""
    stream = np.random.Generator(np.random.Philox(key=seed))
    block = max(1, _AT_ONCE // count)
    for start in range(0, draws, block):
        yield stream.integers(2, size=(min(block, draws - start), count))


def _scores(value: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    return np.array([value(row) for row in sums])


def _slightly_below(value: float) -> float:
    """A threshold that equal differences reach whatever their rounding."""
    return value * (1 - 1e-9) - 1e-12


def _match(first: Counted, second: Counted) -> None:
    if first.signature != second.signature or len(first.rows) != len(second.rows):
        raise ValueError("two systems can be compared where signatures and texts agree")
