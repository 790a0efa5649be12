"""Clustering metrics: purity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def purity(clusters: Sequence[Hashable], classes: Sequence[Hashable]) -> float | None:
    """The fraction of items that are of the majority class of their cluster; None without items."""
    if len(clusters) != len(classes):
        raise ValueError(f"{len(clusters)} clusters against {len(classes)} classes")
    if not len(clusters):
        return None
    contingency = Counter(zip(clusters, classes, strict=True))
    majority: dict[Hashable, int] = {}
    for (cluster, _), count in contingency.items():
        majority[cluster] = max(majority.get(cluster, 0), count)
    return sum(majority.values()) / len(clusters)
