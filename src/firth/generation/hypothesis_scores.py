"""Scores of beam search hypotheses: log-probability with length penalty and coverage penalty (Wu et al. 2016)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from torch import Tensor

from firth.config.core import bounded
from firth.errors import FirthError
from firth.types import Batch

_MIN_COVERAGE = 1e-6  # of a source token: the logarithm of 0 would decide alone


@dataclass(frozen=True)
class BeamConfig:
    """Options of beam search."""

    beam_size: int = bounded(5, least=1)  # running hypotheses; 1: greedy
    length_penalty: float = bounded(0.0, least=0.0, most=10.0)  # alpha of Wu et al. 2016: above 0 favours longer texts
    count: int = bounded(1, least=1)  # hypotheses returned (n-best)
    # log-probabilities are divided by 1, by the length, or by ((5 + length) / 6)^length_penalty
    length_normalisation: Literal["none", "mean", "gnmt"] = "gnmt"
    coverage_penalty: float = bounded(0.0, least=0.0, most=100.0)  # beta of Wu et al. 2016: above 0 favours coverage
    # an input is finished: when `beam_size` hypotheses have ended, when no running one can still win, or at the length
    early_stopping: Literal["completed", "best", "length"] = "completed"
    beam_groups: int = bounded(1, least=1)  # diverse beam search (Vijayakumar et al. 2018); groups divide the beam
    diversity_penalty: float = bounded(0.5, least=0.0, most=100.0)  # cost of a token that an earlier group just chose

    def __post_init__(self) -> None:
        if self.count > self.beam_size:
            what = f"a beam of {self.beam_size} cannot return {self.count} hypotheses"
            raise FirthError(what, do="make the beam wider")
        if self.beam_size % self.beam_groups:
            what = f"a beam of {self.beam_size} cannot be divided into {self.beam_groups} groups"
            raise FirthError(what, do="choose a beam size that the number of groups divides")
        if self.length_penalty and self.length_normalisation != "gnmt":
            what = f"a length penalty beside length_normalisation = {self.length_normalisation}"
            raise FirthError(what, do="leave one of them out")


@dataclass(frozen=True)
class Hypothesis:
    """One generated sequence, without its [END]."""

    ids: list[int]
    log_probability: float  # under the model itself; with [END] if it ended
    ended: bool
    score: float  # what hypotheses are ranked by
    alignment: np.ndarray | None = field(default=None, compare=False)  # (tokens, source length), if the model attends


def length_penalty(tokens: int, alpha: float) -> float:
    """The divisor of a log-probability: ((5 + n) / 6)^alpha of n tokens, [END] counted (Wu et al. 2016)."""
    return math.pow((5 + tokens) / 6, alpha)


LENGTH_NORMALISERS: dict[str, Callable[[int, float], float]] = {
    "none": lambda tokens, alpha: 1.0,
    "mean": lambda tokens, alpha: float(tokens),
    "gnmt": length_penalty,
}


def source_mask(prompts: Batch) -> Tensor | None:
    """Which tokens of each input's source are real (inputs, source length); None without a source."""
    return prompts.tokens("source").mask if "source" in prompts.streams else None


class HypothesisScorer:
    """Turns summed log-probabilities into scores."""

    def __init__(self, config: BeamConfig, max_length: int, source: Tensor | None) -> None:
        """`source`: the mask of each input's source (inputs, source length)."""
        self.config, self.source = config, source
        normaliser = LENGTH_NORMALISERS[config.length_normalisation]
        self.divisors = [normaliser(max(1, tokens), config.length_penalty) for tokens in range(max_length + 1)]

    def scores(self, sums: Tensor, tokens: int, alignment: Tensor | None, inputs: Tensor) -> list[float]:
        """Scores of hypotheses of so many tokens, [END] counted; sums (rows,), alignment (rows, time, source)."""
        scores = sums / self.divisors[tokens]
        return (scores + self._coverage(alignment, inputs) if self.config.coverage_penalty else scores).tolist()

    def upper_bounds(self, sums: Tensor) -> Tensor:
        """The highest score that running hypotheses can still reach: sums only fall, no divisor is larger than that of
        the full length, and all of the source may still be covered."""
        return sums / self.divisors[-1]

    def _coverage(self, alignment: Tensor | None, inputs: Tensor) -> Tensor:
        """beta × the sum over source tokens of log min(attention each received, 1) (Wu et al. 2016)."""
        if alignment is None:
            do = "set coverage_penalty to 0"
            raise FirthError("this model has no attention over a source, so there is no coverage", do=do)
        coverage = alignment.double().sum(1).clamp(_MIN_COVERAGE, 1.0).log()
        if self.source is not None:
            coverage = coverage.masked_fill(~self.source[inputs], 0.0)
        return self.config.coverage_penalty * coverage.sum(1)

    def trim_alignments(self, alignments: Tensor | None, inputs: Sequence[int]) -> list[np.ndarray | None]:
        """Alignments (rows, time, source length) without the padding of their sources."""
        if alignments is None:
            return [None] * len(inputs)
        if self.source is None:
            return list(alignments.numpy())
        lengths = self.source.sum(1).tolist()
        return [each[:, : lengths[number]].numpy() for each, number in zip(alignments, inputs, strict=True)]
