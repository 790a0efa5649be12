"""Corpus metrics computed from sums of per-text statistics, so that any subset or bootstrap resample can be scored."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firth.metrics.score import Score


def _no_details(_: np.ndarray) -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class CorpusStatistics:
    """A metric's sufficient statistics of each text, and the function from their sum to the corpus score."""

    name: str
    counts: np.ndarray  # (texts, statistics)
    compute: Callable[[np.ndarray], float]  # summed statistics (statistics,) -> score; nan where it is undefined
    signature: str
    details: Callable[[np.ndarray], Mapping[str, float]] = _no_details  # from the same sum: precisions, lengths, …

    @property
    def total(self) -> np.ndarray:
        """The sum over all texts (statistics,)."""
        return self.counts.sum(0)

    def score_subset(self, indices: Sequence[int] | np.ndarray) -> float:
        """The corpus score of some of the texts."""
        return self.compute(self.counts[indices].sum(0))

    def score(self) -> Score:
        """The corpus score of all texts, with its signature."""
        value = self.compute(self.total)
        return Score(self.name, None if math.isnan(value) else value, self.signature)


def ratio(sums: np.ndarray) -> float:
    """The first count over the second."""
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def percentage(sums: np.ndarray) -> float:
    """The first count as a percentage of the last."""
    return float(100.0 * sums[0] / sums[-1]) if sums[-1] else math.nan


def digest(references: Sequence[Sequence[str]]) -> str:
    """A short hash of the references, for the signature: scores against other references are not comparable."""
    sha = hashlib.sha256()
    for texts in references:
        for text in texts:
            sha.update(text.encode("utf-8", "surrogatepass") + b"\n")
        sha.update(b"\0")
    return sha.hexdigest()[:8]
