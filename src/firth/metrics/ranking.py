"""How good a ranked list is, given which items are relevant: precision, recall, average precision, nDCG.

A list that is shorter than k counts as if what is missing were not relevant. Without a relevant item a question has no
answer, and the value is None. `ranked` names no item twice.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Mapping, Sequence, Sized
from typing import Literal, Protocol

Item = Hashable
Gain = Literal["linear", "exponential"]  # of a grade g: g, or 2^g - 1


class Relevant(Container, Sized, Protocol):
    """A set of items, or a mapping from them."""


def precision_at(ranked: Sequence[Item], relevant: Relevant, k: int) -> float | None:
    """The share of relevant items among the first k."""
    return _hits(ranked, relevant, k) / k if len(relevant) else None


def recall_at(ranked: Sequence[Item], relevant: Relevant, k: int) -> float | None:
    """The share of the relevant items that are among the first k."""
    return _hits(ranked, relevant, k) / len(relevant) if len(relevant) else None


def _hits(ranked: Sequence[Item], relevant: Relevant, k: int) -> int:
    if k < 1:
        raise ValueError(f"k = {k}, expected 1 or more")
    return sum(item in relevant for item in ranked[:k])


def average_precision(ranked: Sequence[Item], relevant: Relevant) -> float | None:
    """The mean over the relevant items of the precision at their place; 0 for one that is not in the list."""
    if not len(relevant):
        return None
    total, hits = 0.0, 0
    for place, item in enumerate(ranked, 1):
        if item in relevant:
            hits += 1
            total += hits / place
    return total / len(relevant)


def ndcg(
    ranked: Sequence[Item], grades: Mapping[Item, float], k: int | None = None, gain: Gain = "linear"
) -> float | None:
    """Gain discounted by log2 of the place plus one, over that of the best order; grades of 0 or less gain nothing."""
    if k is not None and k < 1:
        raise ValueError(f"k = {k}, expected 1 or more")
    gains = {item: _gain(grade, gain) for item, grade in grades.items() if grade > 0}
    best = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(item, 0.0) for item in ranked[:k]]) / best if best else None


def _gain(grade: float, gain: Gain) -> float:
    return float(grade) if gain == "linear" else 2.0**grade - 1.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(value / math.log2(place + 1) for place, value in enumerate(gains, 1))


def mean(values: Sequence[float | None]) -> float | None:
    """The mean over the questions that have an answer; None if none has."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None
