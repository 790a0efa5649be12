"""Bigrams and trigrams of tags: how probable a tag is after one or two others (Brants 2000)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def count_ngrams(tags: Sequence[Sequence[int]], count: int, order: int) -> np.ndarray:
    """How often each tag follows each sequence of `order` tags (count + 1, …); the number `count` is the edge of a
    sentence, before its first tag and after its last one."""
    shape, flat = (count + 1,) * (order + 1), []
    for row in tags:
        padded = np.array([count] * order + [*row, count])
        flat.append(np.ravel_multi_index([padded[at : len(padded) - order + at] for at in range(order + 1)], shape))
    places = np.concatenate(flat) if flat else np.zeros(0, np.int64)
    return np.bincount(places, minlength=(count + 1) ** (order + 1)).reshape(shape).astype(np.float64)


def log_transitions(counts: np.ndarray) -> np.ndarray:
    """The logarithm of p(tag | tags before), interpolated with the shorter contexts by deleted interpolation."""
    lower = [counts]
    while lower[-1].ndim > 1:
        lower.append(lower[-1].sum(0))
    weights = deleted_interpolation(lower)
    total = sum(weight * _ratio(each) for weight, each in zip(weights, lower, strict=True))
    with np.errstate(divide="ignore"):
        return np.log(total)


def deleted_interpolation(counts: Sequence[np.ndarray]) -> np.ndarray:
    """The weights of n-grams of each length, the longest first: each n-gram votes for the length that predicts it best
    when one occurrence of it is left out. Each length has one vote more, so that no tag that occurs is impossible."""
    shape, occurrences = counts[0].shape, counts[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = [
            np.nan_to_num((each - 1) / (each.sum(-1, keepdims=True) - 1), posinf=0.0, neginf=0.0) for each in counts
        ]
    best = np.argmax([np.broadcast_to(each, shape) for each in gains], 0)
    weights = np.array([1.0 + occurrences[best == length].sum() for length in range(len(counts))])
    return weights / weights.sum()


def _ratio(counts: np.ndarray) -> np.ndarray:
    """The probability of the last tag after those before; zeros after what never occurred."""
    sums = counts.sum(-1, keepdims=True)
    return np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
