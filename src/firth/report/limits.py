"""Limits of an axis: where a few extreme values would squash the others, these are clipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_high

import numpy as np

Limits = tuple[float, float]
_EDGE = 0.05  # of the values at either end are not asked …
_SLACK = 0.5  # … but shown as far as this part of the range of the others reaches
_LEARNED = 3  # points until the best one, from which on a curve has a descent
_MAX_RATIO = 2.0  # of the best of a curve to the median of these, above which the curve is an outlier
_LOG_RATIO = 10.0  # between the limits, from which on a logarithmic scale is better


def finite(values: Sequence[float]) -> list[float]:
    """The values that are numbers."""
    return [float(value) for value in values if math.isfinite(value)]


def full_limits(curves: Sequence[Sequence[float]]) -> Limits:
    """The least and the greatest of all values."""
    values = [value for curve in curves for value in finite(curve)]
    return min(values), max(values)


def robust_limits(curves: Sequence[Sequence[float]]) -> Limits:
    """Limits by quantiles: single extreme values are outside, as far as they are far from the others."""
    low, high = full_limits(curves)
    quantiles = [np.quantile(finite(curve), (_EDGE, 1 - _EDGE)) for curve in curves if finite(curve)]
    inner_low, inner_high = float(min(q[0] for q in quantiles)), float(max(q[1] for q in quantiles))
    slack = _SLACK * (inner_high - inner_low)
    return max(low, inner_low - slack), min(high, inner_high + slack)


def loss_limits(curves: Sequence[Sequence[float]]) -> Limits:
    """Limits of losses, lower being better: the best of each curve, and its descent but for the beginning.

    They are widened neither by a random initialisation, nor by what an overfitted or diverged curve reaches after its
    best point, nor by a curve that is much worse than most throughout.
    """
    values = [each for each in map(finite, curves) if each]
    low, high = full_limits(values)
    typical = median_high([min(curve) for curve in values])
    values = [curve for curve in values if min(curve) <= max(typical, _MAX_RATIO * typical)]
    descents = [curve[: curve.index(min(curve)) + 1] for curve in values]
    descents = [curve for curve in descents if len(curve) >= _LEARNED] or values
    reach = max(*map(min, values), *(float(np.quantile(curve, 1 - 2 * _EDGE)) for curve in descents))
    return low, min(high, low + (1 + _SLACK) * (reach - low))


def is_logarithmic(limits: Limits) -> bool:
    """Whether positive values span so much that a linear scale would hide the small ones."""
    return limits[0] > 0 and limits[1] / limits[0] >= _LOG_RATIO


def widen(limits: Limits, log_scale: bool = False) -> Limits:
    """Limits with a margin, and never empty."""
    low, high = limits
    if log_scale:
        factor = max(1.1, (high / low) ** 0.05)
        return low / factor, high * factor
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin
