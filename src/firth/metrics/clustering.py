"""How well clusters agree with known classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def purity(clusters: Sequence[Hashable], classes: Sequence[Hashable]) -> float | None:
    """The share of items that are of the commonest class of their cluster; None without items."""
    if len(clusters) != len(classes):
        raise ValueError(f"{len(clusters)} clusters against {len(classes)} classes")
    if not len(clusters):
        return None
    together = Counter(zip(clusters, classes, strict=True))
    best: dict[Hashable, int] = {}
    for (cluster, _), count in together.items():
        best[cluster] = max(best.get(cluster, 0), count)
    return sum(best.values()) / len(clusters)
