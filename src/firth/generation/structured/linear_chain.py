"""Scores of a linear chain: what a conditional random field, a hidden Markov model and independent tags share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firth.errors import FirthError

FORBIDDEN = -np.inf


@dataclass(frozen=True)
class LinearChain:
    """Log-scores of neighbouring tags, of the first and of the last tag; −inf forbids. The score of a tagging is their
    sum and that of its emissions (Lafferty et al. 2001)."""

    transitions: np.ndarray  # (tags, tags) float64: from → to
    start: np.ndarray  # (tags,)
    end: np.ndarray  # (tags,)

    @classmethod
    def of(cls, transitions: np.ndarray, start: np.ndarray, end: np.ndarray) -> LinearChain:
        """The chain of these scores in any floating type."""
        return cls(*(np.ascontiguousarray(scores, np.float64) for scores in (transitions, start, end)))

    @classmethod
    def independent(cls, tags: int) -> LinearChain:
        """A chain of zeros: each tag depends on its emissions alone, as those of a softmax do."""
        return cls(np.zeros((tags, tags)), np.zeros(tags), np.zeros(tags))

    @property
    def tags(self) -> int:
        """The number of tags."""
        return len(self.start)

    def __add__(self, other: LinearChain) -> LinearChain:
        """The sum of both scores; adding a chain of 0 and −inf forbids."""
        return LinearChain(self.transitions + other.transitions, self.start + other.start, self.end + other.end)


def prepare_emissions(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> tuple[np.ndarray, np.ndarray]:
    """Emissions (batch, time, tags) and lengths (batch,) as the kernels read them, checked."""
    emissions = np.ascontiguousarray(emissions, np.float64)
    lengths = np.ascontiguousarray(lengths, np.int64)
    if emissions.ndim != 3 or emissions.shape[2] != chain.tags or lengths.shape != emissions.shape[:1]:
        what = f"emissions {emissions.shape} and lengths {lengths.shape} do not fit a chain of {chain.tags} tags"
        raise FirthError(what, do="pass emissions (batch, time, tags) and one length for each sequence")
    if len(lengths) and not 0 <= lengths.min() <= lengths.max() <= emissions.shape[1]:
        raise FirthError(f"lengths from {lengths.min()} to {lengths.max()} in {emissions.shape[1]} time steps")
    return emissions, lengths
