"""How well two rows of numbers agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def ranks(values: Sequence[float]) -> np.ndarray:
    """The place of each value in ascending order, from 1; equal values share the mean of their places."""
    _, which, count = np.unique(np.asarray(values, np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2.0)[which]


def pearson(left: Sequence[float], right: Sequence[float]) -> float | None:
    """The linear correlation; None where one side does not vary or there are fewer than two values."""
    x, y = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{x.size} values against {y.size}")
    if x.size < 2 or x.min() == x.max() or y.min() == y.max():
        return None
    x, y = _scaled(x), _scaled(y)
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _scaled(values: np.ndarray) -> np.ndarray:
    """The deviations from the mean over the largest of them: their squares neither overflow nor vanish."""
    values = values / np.abs(values).max()
    values = values - values.mean()
    return values / np.abs(values).max()


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """The correlation of ranks, ties sharing their mean rank; None where one side does not vary."""
    x, y = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("a value is not a number")
    return pearson(ranks(x), ranks(y))
