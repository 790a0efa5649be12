"""Correlation coefficients of two sequences of numbers: Pearson and Spearman (through SciPy)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np


def pearson(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's r; None if one side is constant or there are fewer than two values."""
    from scipy import stats

    x, y = _checked(left, right)
    if _is_constant(x) or _is_constant(y):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        return float(stats.pearsonr(x, y).statistic)


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's rank correlation ρ, ties at their mean rank; None if one side is constant. NaN is refused."""
    from scipy import stats

    x, y = _checked(left, right)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("a value is not a number")
    return None if _is_constant(x) or _is_constant(y) else float(stats.spearmanr(x, y).statistic)


def _checked(left: Sequence[float], right: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{x.size} values against {y.size}")
    return x, y


def _is_constant(values: np.ndarray) -> bool:
    return values.size < 2 or values.min() == values.max()
