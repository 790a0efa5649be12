"""A score of many texts that is worked out of sums over them, so that any part or redrawing of them can be scored."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firth.metrics.score import Score


def _nothing(_: np.ndarray) -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class Counted:
    """What was counted in each text, and how the sum of such rows becomes a score."""

    name: str
    rows: np.ndarray  # (texts, counts)
    value: Callable[[np.ndarray], float]  # of a sum of rows (counts,); nan where the question has no answer
    signature: str
    details: Callable[[np.ndarray], Mapping[str, float]] = _nothing  # of the same sum: what else it says

    @property
    def total(self) -> np.ndarray:
        """The sum over all texts (counts,)."""
        return self.rows.sum(0)

    def of(self, chosen: Sequence[int] | np.ndarray) -> float:
        """The score of some of the texts."""
        return self.value(self.rows[chosen].sum(0))

    def score(self) -> Score:
        """The score of all of them, signed."""
        value = self.value(self.total)
        return Score(self.name, None if math.isnan(value) else value, self.signature)


def ratio(sums: np.ndarray) -> float:
    """The first count over the second."""
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def percent(sums: np.ndarray) -> float:
    """The first count in each hundred of the last."""
    return float(100.0 * sums[0] / sums[-1]) if sums[-1] else math.nan


def digest(references: Sequence[Sequence[str]]) -> str:
    """A short name of the references: scores against others cannot be compared."""
    found = hashlib.sha256()
    for texts in references:
        for text in texts:
            found.update(text.encode("utf-8", "surrogatepass") + b"\n")
        found.update(b"\0")
    return found.hexdigest()[:8]
