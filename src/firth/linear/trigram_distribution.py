"""The distribution over taggings where a tag depends on two before it: best tags, marginals, probabilities of spans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from firth.datasets.readers.tag_schemes import Span, tags_to_spans
from firth.errors import FirthError
from firth.generation.structured.linear_chain import FORBIDDEN, LinearChain
from firth.generation.structured.span_marginals import SpanProbability, TagDistribution
from firth.linear import trigram_kernels


class TrigramDistribution(TagDistribution):
    """The distribution of one sentence, with scores of three neighbouring tags instead of two."""

    def __init__(self, emissions: np.ndarray, transitions: np.ndarray, tags: Sequence[str]) -> None:
        """`emissions` (time, tags); `transitions` (tags + 1, tags + 1, tags + 1), the last number for the edge."""
        self.emissions, self.tags = np.ascontiguousarray(emissions, np.float64), list(tags)
        self.transitions = np.ascontiguousarray(transitions, np.float64)
        self.marginals = np.zeros(self.emissions.shape)
        self._normaliser = trigram_kernels.marginals(self.emissions, self.transitions, self.marginals)
        if self._normaliser == FORBIDDEN:
            raise _impossible()

    def best_tags(self) -> list[str]:
        """The most probable tagging as a whole."""
        return [self.tags[tag] for tag in decode(self.emissions, self.transitions)]

    def log_probability(self, tags: Sequence[str]) -> float:
        """The log-probability of this tagging as a whole; −inf if it has a tag that is unknown or forbidden."""
        column, edge = {tag: at for at, tag in enumerate(self.tags)}, len(self.tags)
        if len(tags) != len(self.emissions) or not all(tag in column for tag in tags):
            return FORBIDDEN
        path = np.array([edge, edge, *(column[tag] for tag in tags), edge])
        score = self.emissions[np.arange(len(tags)), path[2:-1]].sum()
        score += self.transitions[path[:-2], path[1:-1], path[2:]].sum()
        return min(0.0, float(score - self._normaliser))

    def best_spans(self) -> list[SpanProbability]:
        """The spans of the most probable tagging, each with its own probability."""
        return [SpanProbability(span, self.span_probability(span)) for span in tags_to_spans(self.best_tags())]

    def span_probability(self, span: Span) -> float:
        """The probability that the tagging has exactly this span, with this label."""
        return self._pairs.span_probability(span)

    def likely_spans(self, threshold: float) -> list[SpanProbability]:
        """All spans of this probability or more, wherever they are, in order; they may overlap."""
        return self._pairs.likely_spans(threshold)

    @cached_property
    def _pairs(self) -> TagDistribution:
        """The same distribution as a chain whose states are pairs: the tag before, and the tag."""
        count = len(self.tags)
        before, tag = np.divmod(np.arange((count + 1) * count), count)  # before: also the edge
        table = self.transitions
        transitions = np.where(tag[:, None] == before, table[before[:, None], tag[:, None], tag], FORBIDDEN)
        start = np.where(before == count, table[count, count, tag], FORBIDDEN)
        chain = LinearChain.of(transitions, start, table[before, tag, count])
        return TagDistribution(self.emissions[:, tag], chain, [self.tags[number] for number in tag])


def decode(emissions: np.ndarray, transitions: np.ndarray) -> list[int]:
    """The most probable tagging."""
    best = np.zeros(len(emissions), np.int64)
    if trigram_kernels.viterbi(np.ascontiguousarray(emissions), transitions, best) == FORBIDDEN:
        raise _impossible()
    return best.tolist()


def _impossible() -> FirthError:
    return FirthError("the sentence has no tagging that the constraints allow", do="allow more tags")


def with_chain(transitions: np.ndarray, chain: LinearChain) -> np.ndarray:
    """Scores of three tags with those of two added, such as constraints."""
    edge, result = len(transitions) - 1, transitions.copy()
    result[:, :edge, :edge] += chain.transitions
    result[:, edge, :edge] += chain.start
    result[:, :edge, edge] += chain.end
    return result
