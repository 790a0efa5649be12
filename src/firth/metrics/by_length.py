"""Corpus scores in bins of source length: how quality falls on long sources (Cho et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.metrics.corpus_metric import CorpusStatistics

BINS = 5


class Bin(NamedTuple):
    """The texts whose source lengths lie between `low` and `high`, both included."""

    low: int
    high: int
    texts: int
    scores: tuple[float, ...]  # of each system; nan where it is undefined


def by_length(
    lengths: Sequence[int], systems: Sequence[CorpusStatistics], edges: Sequence[int] = (), bins: int = BINS
) -> list[Bin]:
    """The scores in each non-empty bin; `edges` are the largest lengths of all bins but the last.

    Without edges, up to `bins` quantile bins; texts of one length are always in one bin.
    """
    sizes = np.asarray(lengths)
    last = sorted({*edges}) if len(edges) else _quantiles(sizes, bins)
    bin_of = np.searchsorted(last, sizes)  # the first bin whose largest length is not less
    members = [np.flatnonzero(bin_of == number) for number in range(len(last) + 1)]
    return [
        Bin(
            int(sizes[texts].min()),
            int(sizes[texts].max()),
            len(texts),
            tuple(system.score_subset(texts) for system in systems),
        )
        for texts in members
        if len(texts)
    ]


def _quantiles(lengths: np.ndarray, bins: int) -> list[int]:
    """The largest lengths of bins that hold about as many texts each."""
    ordered = np.sort(lengths)
    return sorted({int(ordered[len(ordered) * part // bins - 1]) for part in range(1, bins) if len(ordered) >= bins})
