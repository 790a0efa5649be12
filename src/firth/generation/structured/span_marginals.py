"""Exact probabilities of spans: that a tagging has exactly this span with this label, whatever the rest of it is.

A tagging has a span if its tags begin one there, each next tag continues it, and the tag after it does not. The
probability is the sum over all such taggings, from the forward and backward scores around the span and a sum over the
tags within it. Independent tags (softmax) are a chain of zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from firth.datasets.readers.tag_schemes import OUTSIDE, Span, continues, split_tag, tags_to_spans
from firth.errors import FirthError
from firth.generation.structured import forward_backward
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.viterbi import viterbi

_TOGETHER = 64  # sentences


class SpanProbability(NamedTuple):
    """A span and the probability that the tagging has it."""

    span: Span
    probability: float


class Scores(NamedTuple):
    """Forward and backward scores of one sentence (time, tags), its marginals and its normaliser."""

    alphas: np.ndarray
    betas: np.ndarray
    marginals: np.ndarray
    normaliser: float


class TagDistribution:
    """The distribution over all taggings of one sentence: best tags, marginals of tags and of spans."""

    def __init__(self, emissions: np.ndarray, chain: LinearChain, tags: Sequence[str], scores: Scores | None = None):
        """`scores` are those of these emissions, where they are computed already."""
        self.emissions, self.chain, self.tags = np.asarray(emissions, np.float64), chain, list(tags)
        self._one = self.emissions[None], np.array([len(self.emissions)])
        if scores is None:
            (scores,) = _forward_backward(*self._one, chain)
        self.marginals = scores.marginals  # (time, tags)
        self._alphas, self._betas, self._normaliser = scores.alphas, scores.betas, scores.normaliser
        if self._normaliser == -np.inf:
            raise FirthError("the sentence has no tagging that the constraints allow", do="allow more tags")

    @classmethod
    def of_sentences(
        cls, emissions: Sequence[np.ndarray], chain: LinearChain, tags: Sequence[str]
    ) -> list[TagDistribution]:
        """The distributions of several sentences, bit by bit those of each alone; sentences of about one length are
        computed together, which takes less time."""
        order = sorted(range(len(emissions)), key=lambda number: len(emissions[number]))
        distributions: dict[int, TagDistribution] = {}
        for first in range(0, len(order), _TOGETHER):
            numbers = order[first : first + _TOGETHER]
            lengths = np.array([len(emissions[number]) for number in numbers])
            padded = np.zeros((len(numbers), lengths.max(), chain.tags))
            for row, number in zip(padded, numbers, strict=True):
                row[: len(emissions[number])] = emissions[number]
            for number, scores in zip(numbers, _forward_backward(padded, lengths, chain), strict=True):
                distributions[number] = cls(emissions[number], chain, tags, scores)
        return [distributions[number] for number in range(len(emissions))]

    def best_tags(self) -> list[str]:
        """The most probable tagging as a whole."""
        return [self.tags[tag] for tag in viterbi(*self._one, self.chain)[0].tags]

    def log_probability(self, tags: Sequence[str]) -> float:
        """The log-probability of this tagging as a whole; −inf if it has a tag that is unknown or forbidden."""
        column = {tag: at for at, tag in enumerate(self.tags)}
        if len(tags) != len(self.emissions) or not all(tag in column for tag in tags):
            return -np.inf
        path = np.array([column[tag] for tag in tags])
        score = self.emissions[np.arange(len(path)), path].sum() + self.chain.transitions[path[:-1], path[1:]].sum()
        return min(0.0, float(score + self.chain.start[path[0]] + self.chain.end[path[-1]] - self._normaliser))

    def best_spans(self) -> list[SpanProbability]:
        """The spans of the most probable tagging, each with its own probability."""
        return [SpanProbability(span, self.span_probability(span)) for span in tags_to_spans(self.best_tags())]

    def span_probability(self, span: Span) -> float:
        """The probability that the tagging has exactly this span, with this label."""
        if not 0 <= span.start < span.end <= len(self.emissions):
            raise FirthError(f"span {span.start}-{span.end} is not within {len(self.emissions)} words")
        inside = self._tags_of(span.label)
        if not len(inside):
            return 0.0
        scores = self._begin(span.start, inside)
        for time in range(span.start + 1, span.end):
            scores = self._continue(time, inside, scores)
        return self._probability(self._end(span.end, inside, scores))

    def likely_spans(self, threshold: float) -> list[SpanProbability]:
        """All spans of this probability or more, wherever they are, in order; they may overlap."""
        if not 0 < threshold <= 1:
            raise FirthError(f"a threshold of {threshold}", do="choose one above 0, up to 1")
        labels = dict.fromkeys(label for prefix, label in map(split_tag, self.tags) if prefix != OUTSIDE)
        return sorted(each for label in labels for each in self._likely_spans(label, threshold))

    def _likely_spans(self, label: str, threshold: float) -> Iterator[SpanProbability]:
        inside = self._tags_of(label)
        for start in range(len(self.emissions)):
            scores = self._begin(start, inside)
            for end in range(start + 1, len(self.emissions) + 1):
                # the probability of this span and all longer ones: none of them can have more
                if self._probability(_log_sum(scores + self._betas[end - 1, inside])) < threshold:
                    break
                probability = self._probability(self._end(end, inside, scores))
                if probability >= threshold:
                    yield SpanProbability(Span(start, end, label), probability)
                if end < len(self.emissions):
                    scores = self._continue(end, inside, scores)

    @cached_property
    def _continues(self) -> np.ndarray:
        """Whether a tag continues a span after another (from, to)."""
        return np.array([[continues(before, tag) for tag in self.tags] for before in self.tags])

    def _tags_of(self, label: str) -> np.ndarray:
        parts = [split_tag(tag) for tag in self.tags]
        return np.array([at for at, (prefix, of) in enumerate(parts) if prefix != OUTSIDE and of == label], np.int64)

    def _begin(self, time: int, inside: np.ndarray) -> np.ndarray:
        """Forward scores of the label's tags as the first of a span."""
        if time == 0:
            return np.asarray(self.chain.start[inside] + self.emissions[0, inside])
        steps = np.where(self._continues[:, inside], -np.inf, self.chain.transitions[:, inside])
        return np.asarray(_log_sum(self._alphas[time - 1, :, None] + steps) + self.emissions[time, inside])

    def _continue(self, time: int, inside: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The scores one word further in the same span."""
        at = np.ix_(inside, inside)
        steps = np.where(self._continues[at], self.chain.transitions[at], -np.inf)
        return np.asarray(_log_sum(scores[:, None] + steps) + self.emissions[time, inside])

    def _end(self, end: int, inside: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The score of all taggings with a span that ends before this word."""
        if end == len(self.emissions):
            return _log_sum(scores + self.chain.end[inside])
        steps = np.where(self._continues[inside], -np.inf, self.chain.transitions[inside])
        return _log_sum((scores[:, None] + steps + self.emissions[end] + self._betas[end]).ravel())

    def _probability(self, score: np.ndarray) -> float:
        return min(1.0, float(np.exp(score - self._normaliser)))


def _forward_backward(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> list[Scores]:
    """The scores of each sentence of a batch: emissions (batch, time, tags), lengths (batch,)."""
    lattice = forward_backward.forward(emissions, lengths, chain)
    betas, marginals = forward_backward.backward(emissions, lengths, chain, lattice)
    rows = zip(lattice.alphas, betas, marginals, lattice.normalisers.tolist(), lengths.tolist(), strict=True)
    return [
        Scores(alphas[:length], backward[:length], of_tags[:length], normaliser)
        for alphas, backward, of_tags, normaliser, length in rows
    ]


def _log_sum(scores: np.ndarray) -> np.ndarray:
    """log Σ exp over the first axis; −inf where all are."""
    largest = scores.max(0)
    safe = np.where(largest == -np.inf, 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(scores - safe).sum(0)) + safe)
