"""Scores of a test set by the length of its sources: where long ones are lost (Cho et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.metrics.counted import Counted

BINS = 5


class Bin(NamedTuple):
    """The texts whose sources are so long, both ends included."""

    low: int
    high: int
    texts: int
    scores: tuple[float, ...]  # of each system; nan where there is none


def by_length(
    lengths: Sequence[int], systems: Sequence[Counted], edges: Sequence[int] = (), bins: int = BINS
) -> list[Bin]:
    """The scores of each bin that has texts; `edges` are the last lengths of all bins but one.

    Without edges, up to `bins` bins of about as many texts each; texts of one length are never parted.
    """
    found = np.asarray(lengths)
    last = sorted({*edges}) if len(edges) else _quantiles(found, bins)
    which = np.searchsorted(last, found)  # the first bin whose last length is not less
    chosen = [np.flatnonzero(which == number) for number in range(len(last) + 1)]
    return [
        Bin(int(found[here].min()), int(found[here].max()), len(here), tuple(each.of(here) for each in systems))
        for here in chosen
        if len(here)
    ]


def _quantiles(lengths: np.ndarray, bins: int) -> list[int]:
    """Last lengths that part the texts most evenly."""
    ordered = np.sort(lengths)
    return sorted({int(ordered[len(ordered) * part // bins - 1]) for part in range(1, bins) if len(ordered) >= bins})
