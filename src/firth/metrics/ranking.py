"""Information retrieval metrics of a ranked list: precision@k, recall@k, average precision (MAP), nDCG.

A list shorter than k is padded with irrelevant items. A query without relevant items has no value (None). `ranked`
has no item twice.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Mapping, Sequence, Sized
from typing import Literal, Protocol

Item = Hashable
Gain = Literal["linear", "exponential"]  # of a relevance grade g: g, or 2^g - 1


class Relevant(Container, Sized, Protocol):
    """A set of items, or a mapping from them."""


def precision_at_k(ranked: Sequence[Item], relevant: Relevant, k: int) -> float | None:
    """Precision@k: the fraction of the first k items that are relevant."""
    return _hits(ranked, relevant, k) / k if len(relevant) else None


def recall_at_k(ranked: Sequence[Item], relevant: Relevant, k: int) -> float | None:
    """Recall@k: the fraction of the relevant items that are among the first k."""
    return _hits(ranked, relevant, k) / len(relevant) if len(relevant) else None


def _hits(ranked: Sequence[Item], relevant: Relevant, k: int) -> int:
    if k < 1:
        raise ValueError(f"k = {k}, expected 1 or more")
    return sum(item in relevant for item in ranked[:k])


def average_precision(ranked: Sequence[Item], relevant: Relevant) -> float | None:
    """The mean over the relevant items of the precision at their rank; 0 for one that is not in the list."""
    if not len(relevant):
        return None
    total, hits = 0.0, 0
    for rank, item in enumerate(ranked, 1):
        if item in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def ndcg(
    ranked: Sequence[Item], grades: Mapping[Item, float], k: int | None = None, gain: Gain = "linear"
) -> float | None:
    """Normalised discounted cumulative gain: DCG with discount log2(rank + 1) over that of the ideal ranking.

    Grades of 0 or less gain nothing.
    """
    if k is not None and k < 1:
        raise ValueError(f"k = {k}, expected 1 or more")
    gains = {item: _gain(grade, gain) for item, grade in grades.items() if grade > 0}
    ideal = _dcg(sorted(gains.values(), reverse=True)[:k])
    return _dcg([gains.get(item, 0.0) for item in ranked[:k]]) / ideal if ideal else None


def _gain(grade: float, gain: Gain) -> float:
    return float(grade) if gain == "linear" else 2.0**grade - 1.0


def _dcg(gains: Sequence[float]) -> float:
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1))


def mean(values: Sequence[float | None]) -> float | None:
    """The mean over the queries that have a value (MAP of average precisions); None if none has."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None
