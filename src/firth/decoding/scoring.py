"""What hypotheses are ranked by: their log-probability, over their length, less what of the source was not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from torch import Tensor

from firth.config.core import bounded
from firth.errors import FirthError
from firth.types import Batch

_LEAST = 1e-6  # of a source token was seen: the logarithm of nothing would decide alone


@dataclass(frozen=True)
class Beam:
    """How to search."""

    width: int = bounded(5, least=1)  # hypotheses kept; 1: greedy
    penalty: float = bounded(0.0, least=0.0, most=10.0)  # alpha of Wu et al. 2016: above 0 favours longer texts
    count: int = bounded(1, least=1)  # hypotheses returned
    normalise: Literal["none", "mean", "gnmt"] = "gnmt"  # by 1, by the length, by ((5 + length) / 6)^penalty
    coverage: float = bounded(0.0, least=0.0, most=100.0)  # beta of Wu et al. 2016: above 0, all of a source is wanted
    # an input is finished: when `width` have ended, when no open one can still win, or only at the length
    stop: Literal["completed", "best", "length"] = "completed"
    groups: int = bounded(1, least=1)  # that search apart (Vijayakumar et al. 2018); each has its share of the width
    diversity: float = bounded(0.5, least=0.0, most=100.0)  # what a token costs that a group before has just taken

    def __post_init__(self) -> None:
        if self.count > self.width:
            raise FirthError(f"a beam of {self.width} has no {self.count} best", do="make the beam wider")
        if self.width % self.groups:
            what = f"a beam of {self.width} cannot be shared by {self.groups} groups"
            raise FirthError(what, do="choose a width that groups divide")
        if self.penalty and self.normalise != "gnmt":
            what = f"a length penalty beside normalise = {self.normalise}"
            raise FirthError(what, do="leave one of them out")


@dataclass(frozen=True)
class Hypothesis:
    """One continuation, without its [END]."""

    ids: list[int]
    log_probability: float  # under the model itself; with [END] if it came
    ended: bool
    score: float  # what hypotheses are ranked by
    alignment: np.ndarray | None = field(default=None, compare=False)  # (tokens, source length), if it was looked at


def length_penalty(tokens: int, alpha: float) -> float:
    """What a log-probability is divided by: ((5 + n) / 6)^alpha of n tokens, [END] counted (Wu et al. 2016)."""
    return ((5 + tokens) / 6) ** alpha


NORMS: dict[str, Callable[[int, float], float]] = {
    "none": lambda tokens, alpha: 1.0,
    "mean": lambda tokens, alpha: float(tokens),
    "gnmt": length_penalty,
}


def real_source(prompts: Batch) -> Tensor | None:
    """Which tokens of each input's source are real (inputs, source length), if it has one."""
    return prompts.streams["source"].mask if "source" in prompts.streams else None


class Scale:
    """What makes scores of sums of log-probabilities."""

    def __init__(self, how: Beam, length: int, source: Tensor | None) -> None:
        """`source`: which tokens of each input's source are real (inputs, source length)."""
        self.how, self.source = how, source
        self.norms = [NORMS[how.normalise](max(1, tokens), how.penalty) for tokens in range(length + 1)]

    def scores(self, sums: Tensor, tokens: int, aligned: Tensor | None, inputs: Tensor) -> list[float]:
        """Of hypotheses with so many tokens, [END] counted: sums (rows,), alignments (rows, time, source length)."""
        found = sums / self.norms[tokens]
        return (found + self._coverage(aligned, inputs) if self.how.coverage else found).tolist()

    def hopes(self, sums: Tensor) -> Tensor:
        """What open hypotheses can still reach at most: sums only fall, no norm is larger than that of the full length,
        and all of the source may still be seen."""
        return sums / self.norms[-1]

    def _coverage(self, aligned: Tensor | None, inputs: Tensor) -> Tensor:
        """beta × the sum over source tokens of log min(how much each was looked at, 1) (Wu et al. 2016)."""
        if aligned is None:
            do = "set coverage to 0"
            raise FirthError("this model does not say what it looks at, so nothing is known of coverage", do=do)
        seen = aligned.double().sum(1).clamp(_LEAST, 1.0).log()
        if self.source is not None:
            seen = seen.masked_fill(~self.source[inputs], 0.0)
        return self.how.coverage * seen.sum(1)

    def aligned(self, rows: Tensor | None, inputs: Sequence[int]) -> list[np.ndarray | None]:
        """Alignments (rows, time, source length) without the padding of their sources."""
        if rows is None:
            return [None] * len(inputs)
        if self.source is None:
            return list(rows.numpy())
        real = self.source.sum(1).tolist()
        return [row[:, : real[number]].numpy() for row, number in zip(rows, inputs, strict=True)]
