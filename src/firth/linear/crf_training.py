"""Training of a linear-chain conditional random field on features, by L-BFGS (Lafferty et al. 2001; Sha and Pereira
2003): the gradient is the expected counts less those of the right tags, by the forward–backward algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import ConditionalRandomField
from firth.generation.structured import forward_backward
from firth.generation.structured.linear_chain import LinearChain
from firth.jit import default_threads
from firth.linear import lbfgs
from firth.linear.design_matrix import DesignMatrix
from firth.linear.penalised_loss import CURVATURE
from firth.linear.state_weights import StateScores, TagPattern

BATCH_WORDS = 4096  # of sentences of about one length, whose marginals are computed at once


class CRFFit(NamedTuple):
    """The weights of all features for tags (features, tags), the chain, and how the search ended."""

    weights: csr_array
    chain: LinearChain
    loss: float  # the mean negative log-likelihood of the training sentences, per word
    iterations: int
    converged: bool


class SentenceBatch(NamedTuple):
    """Sentences of about one length: the number of each word (sentences, time), and their lengths."""

    words: np.ndarray
    lengths: np.ndarray
    real: np.ndarray  # bool: not padding


class CRFTrainer:
    """Trains on one set of sentences with one penalty after the other, each from where the last ended."""

    def __init__(
        self, matrix: csr_array, tags: Sequence[np.ndarray], count: int, method: ConditionalRandomField
    ) -> None:
        """`matrix` has the features of all words, `tags` the numbers of the tags of each sentence, below `count`."""
        self.method, self.count = method, count
        threads = method.threads or default_threads()
        self._pool = ThreadPoolExecutor(threads)
        self.design, gold = DesignMatrix(matrix), np.concatenate(tags)
        merged = self.design.by_rows.matrix
        seen = method.weights == "seen"
        self.pattern = TagPattern.seen(merged, gold, count) if seen else TagPattern.every(self.design.size, count)
        self._states = StateScores(self.design, self.pattern, count, self._pool, threads)
        self._batches = sentence_batches(np.array(list(map(len, tags))))
        self._gold, self._counts = gold, chain_counts(tags, count)
        self._start: np.ndarray | None = None

    def fit(self, l2: float) -> CRFFit:
        """The model with this penalty."""
        if self._start is None:
            self._start = np.zeros(self.pattern.size + self.count * (self.count + 2))
        method, steps = self.method, self._step_sizes(l2)
        minimum = lbfgs.minimise(
            lbfgs.preconditioned(lambda parameters: self.value(parameters, l2), steps),
            self._start / steps,
            tolerance=method.tolerance,
            max_iterations=method.max_iterations,
            memory=method.memory,
            delta=method.delta,
            measure=lambda gradient: lbfgs.largest(gradient / steps),
        )
        self._start = steps * minimum.x
        weights, chain = self._split(self._start)
        loss = minimum.value - 0.5 * l2 / len(self._gold) * float(self._start @ self._start)
        return CRFFit(self._expand(weights), chain, loss, minimum.iterations, minimum.converged)

    def value(self, parameters: np.ndarray, l2: float) -> tuple[float, np.ndarray]:
        """The penalised loss per word and its gradient."""
        weights, chain = self._split(parameters)
        scores, words = self._states.scores(weights), len(self._gold)
        residuals, expected = np.zeros_like(scores), np.zeros(self.count * (self.count + 2))
        total = -float(scores[np.arange(words), self._gold].sum()) - float(self._counts @ parameters[len(weights) :])
        for batch, normaliser, counts, gradients in self._pool.map(
            lambda batch: self._expectations(batch, scores, chain), self._batches
        ):
            total += normaliser
            residuals[batch.words[batch.real]] = gradients[batch.real]
            expected += counts
        residuals[np.arange(words), self._gold] -= 1.0
        gradient = np.concatenate([self._states.gradient(residuals), expected - self._counts])
        gradient += l2 * parameters
        gradient /= words
        return (total + 0.5 * l2 * float(parameters @ parameters)) / words, gradient

    def _step_sizes(self, l2: float) -> np.ndarray:
        """The inverse square roots of the second derivatives, roughly; see `Problem`."""
        squares = self.design.squares(np.ones(len(self._gold)))
        tags = np.bincount(self._gold, minlength=self.count)
        of_weights = np.repeat(squares, np.diff(self.pattern.starts.astype(np.int64)))
        curvatures = np.concatenate([of_weights, np.repeat(tags, self.count), tags, tags])
        steps = 1 / np.sqrt(l2 + CURVATURE * curvatures)
        return steps / steps.max()

    def _expectations(
        self, batch: SentenceBatch, scores: np.ndarray, chain: LinearChain
    ) -> tuple[SentenceBatch, float, np.ndarray, np.ndarray]:
        """The sum of the log-normalisers of a batch, the expected counts of the chain, the marginals of its words."""
        emissions = scores[batch.words]
        lattice = forward_backward.forward(emissions, batch.lengths, chain)
        ones = np.ones(len(batch.lengths))
        result = forward_backward.gradients(emissions, batch.lengths, chain, lattice, ones)
        counts = np.concatenate([result.transitions.ravel(), result.start, result.end])
        return batch, float(lattice.normalisers.sum()), counts, result.emissions

    def _split(self, parameters: np.ndarray) -> tuple[np.ndarray, LinearChain]:
        """The weights of the features, and the chain."""
        count, chain = self.count, parameters[self.pattern.size :]
        transitions, start, end = np.split(chain, [count * count, count * count + count])
        return parameters[: self.pattern.size], LinearChain.of(transitions.reshape(count, count), start, end)

    def _expand(self, weights: np.ndarray) -> csr_array:
        """The weights of all features from those of the merged ones."""
        merged = self.pattern.matrix(weights, self.count)
        sizes = np.diff(merged.indptr)
        merged.data = merged.data / np.repeat(self.design.roots, sizes)
        known = self.design.group >= 0
        rows = merged[np.where(known, self.design.group, 0)]
        rows.data[np.repeat(~known, np.diff(rows.indptr))] = 0.0
        return rows


def sentence_batches(lengths: np.ndarray) -> list[SentenceBatch]:
    """The sentences from short to long in batches; each word once."""
    firsts, order = np.cumsum(lengths) - lengths, np.argsort(lengths, kind="stable")
    batches, begin = [], 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and (end + 1 - begin) * lengths[order[end]] <= BATCH_WORDS:
            end += 1
        rows = order[begin:end]
        steps = np.arange(lengths[rows].max())
        real = steps < lengths[rows, None]
        words = np.where(real, firsts[rows, None] + steps, 0)
        batches.append(SentenceBatch(words, lengths[rows], real))
        begin = end
    return batches


def chain_counts(tags: Sequence[np.ndarray], count: int) -> np.ndarray:
    """How often each tag follows each other, begins and ends a sentence, one after the other."""
    transitions, start, end = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    for row in tags:
        np.add.at(transitions, (row[:-1], row[1:]), 1.0)
        start[row[0]] += 1.0
        end[row[-1]] += 1.0
    return np.concatenate([transitions.ravel(), start, end])
