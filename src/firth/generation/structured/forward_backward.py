"""The forward–backward algorithm in the log semiring: normalisers and exact marginals of every tag and every pair.

Sums of products are scaled by the largest term of each step; a sum that would underflow is computed again from
logarithms, so any scores are safe. Sequences are computed one by one: padding and batch mates change no bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.generation.structured.linear_chain import LinearChain, prepare_emissions
from firth.jit import kernel

_TINY = 1e-200  # scaled sums below it are recomputed: what underflowed (below 1e-308) could matter to them


class Factors(NamedTuple):
    """The exponentials of transition scores, scaled by the largest."""

    values: np.ndarray  # (tags, tags): exp(transition − shift)
    shift: float


class Lattice(NamedTuple):
    """Forward scores of all taggings up to a word, of sequences beside each other."""

    alphas: np.ndarray  # (batch, time, tags): log-sum over the taggings that end there with that tag
    normalisers: np.ndarray  # (batch,): log-sum over all taggings


class Gradients(NamedTuple):
    """Gradients of the weighted sum of log-normalisers: expected counts."""

    emissions: np.ndarray  # (batch, time, tags): marginals of a weight of 1; zero on padding
    transitions: np.ndarray  # (tags, tags)
    start: np.ndarray  # (tags,)
    end: np.ndarray  # (tags,)


@kernel
def _log_sum(scores: np.ndarray, others: np.ndarray) -> float:
    """log Σ exp(scores + others); −inf if all are."""
    largest = -np.inf
    for i in range(len(scores)):
        if not scores[i] + others[i] <= largest:  # NaN spreads
            largest = scores[i] + others[i]
    if largest == -np.inf:
        return largest
    total = 0.0
    for i in range(len(scores)):
        total += np.exp(scores[i] + others[i] - largest)
    return largest + np.log(total)  # type: ignore[no-any-return] # NumPy's float is Python's


@kernel
def _exponentials(scores: np.ndarray, out: np.ndarray) -> float:
    """out = exp(scores − their maximum), which is returned; zeros if all are −inf."""
    largest = -np.inf
    for i in range(len(scores)):
        if not scores[i] <= largest:  # NaN spreads
            largest = scores[i]
    for i in range(len(scores)):
        out[i] = 0.0 if largest == -np.inf else np.exp(scores[i] - largest)
    return largest


@kernel
def _forward(
    emissions: np.ndarray, lengths: np.ndarray, transitions: np.ndarray, factors: np.ndarray, shift: float,
    start: np.ndarray, end: np.ndarray, alphas: np.ndarray, normalisers: np.ndarray,
) -> None:  # fmt: skip
    """Forward scores and normalisers of each sequence."""
    tags = len(start)
    weights, sums = np.empty(tags), np.empty(tags)
    for row in range(len(lengths)):
        length = lengths[row]
        if length == 0:
            normalisers[row] = 0.0  # one tagging, the empty one
            continue
        alpha = alphas[row]
        for j in range(tags):
            alpha[0, j] = start[j] + emissions[row, 0, j]
        for t in range(1, length):
            largest = _exponentials(alpha[t - 1], weights)
            sums[:] = 0.0
            for i in range(tags):
                weight = weights[i]
                if weight != 0.0:
                    for j in range(tags):
                        sums[j] += weight * factors[i, j]
            for j in range(tags):
                if sums[j] < _TINY:
                    alpha[t, j] = _log_sum(alpha[t - 1], transitions[:, j]) + emissions[row, t, j]
                else:
                    alpha[t, j] = np.log(sums[j]) + largest + shift + emissions[row, t, j]
        normalisers[row] = _log_sum(alpha[length - 1], end)


@kernel
def _backward(
    emissions: np.ndarray, lengths: np.ndarray, transitions: np.ndarray, factors: np.ndarray, shift: float,
    end: np.ndarray, alphas: np.ndarray, normalisers: np.ndarray, weights: np.ndarray, with_pairs: bool,
    betas: np.ndarray, marginals: np.ndarray, pairs: np.ndarray, start_gradient: np.ndarray, end_gradient: np.ndarray,
) -> None:  # fmt: skip
    """Backward scores, and expected counts weighted for each sequence; zeros where no tagging is possible."""
    tags = len(end)
    left, right, sums, outgoing = np.empty(tags), np.empty(tags), np.empty(tags), np.empty(tags)
    scaled = np.zeros((tags, tags))  # of expected counts, still without their factors
    for row in range(len(lengths)):
        length, weight = lengths[row], weights[row]
        if length == 0 or normalisers[row] == -np.inf:
            continue
        beta = betas[row if len(betas) > 1 else 0]
        beta[length - 1] = end
        for t in range(length - 1, -1, -1):
            for j in range(tags):
                outgoing[j] = alphas[row, t, j] + beta[t, j]
            _exponentials(outgoing, sums)
            scale = weight / sums.sum()
            for j in range(tags):
                marginals[row, t, j] = sums[j] * scale
            if t == 0:
                break
            for j in range(tags):
                outgoing[j] = emissions[row, t, j] + beta[t, j]
            largest = _exponentials(outgoing, right)
            for i in range(tags):
                total = 0.0
                for j in range(tags):
                    total += factors[i, j] * right[j]
                sums[i] = total
                if total < _TINY:
                    beta[t - 1, i] = _log_sum(transitions[i], outgoing)
                else:
                    beta[t - 1, i] = np.log(total) + largest + shift
            if with_pairs:
                _exponentials(alphas[row, t - 1], left)
                total = 0.0
                for i in range(tags):
                    total += left[i] * sums[i]
                if total < _TINY:
                    _add_pairs(alphas[row, t - 1], transitions, outgoing, normalisers[row], weight, pairs)
                else:
                    for i in range(tags):
                        scale = left[i] * weight / total
                        if scale != 0.0:
                            for j in range(tags):
                                scaled[i, j] += scale * right[j]
        for j in range(tags):
            start_gradient[j] += marginals[row, 0, j]
            end_gradient[j] += marginals[row, length - 1, j]
    if with_pairs:
        for i in range(tags):
            for j in range(tags):
                pairs[i, j] += scaled[i, j] * factors[i, j]


@kernel
def _add_pairs(
    alpha: np.ndarray, transitions: np.ndarray, outgoing: np.ndarray, normaliser: float, weight: float,
    pairs: np.ndarray,
) -> None:  # fmt: skip
    """Add the weighted marginals of two neighbouring tags, from logarithms."""
    for i in range(len(alpha)):
        for j in range(len(alpha)):
            score = alpha[i] + transitions[i, j] + outgoing[j]
            if score > -np.inf:
                pairs[i, j] += weight * np.exp(score - normaliser)


def _factors(chain: LinearChain) -> Factors:
    finite = chain.transitions[chain.transitions > -np.inf]
    shift = float(finite.max()) if len(finite) else 0.0
    return Factors(np.exp(chain.transitions - shift), shift)


def forward(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> Lattice:
    """Forward scores of sequences: emissions (batch, time, tags), lengths (batch,). −inf: no tagging is possible."""
    emissions, lengths = prepare_emissions(emissions, lengths, chain)
    lattice = Lattice(np.full(emissions.shape, -np.inf), np.empty(len(lengths)))
    _forward(emissions, lengths, chain.transitions, *_factors(chain), chain.start, chain.end, *lattice)
    return lattice


def gradients(
    emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain, lattice: Lattice, weights: np.ndarray
) -> Gradients:
    """Gradients of Σ weights (batch,) × log-normalisers."""
    emissions, lengths = prepare_emissions(emissions, lengths, chain)
    betas = np.empty((1, *emissions.shape[1:]))
    result = Gradients(np.zeros(emissions.shape), *(np.zeros(array.shape) for array in _scores(chain)))
    arguments = emissions, lengths, chain.transitions, *_factors(chain), chain.end, *lattice
    _backward(*arguments, np.ascontiguousarray(weights, np.float64), True, betas, *result)
    return result


def _scores(chain: LinearChain) -> tuple[np.ndarray, ...]:
    return chain.transitions, chain.start, chain.end


def marginals(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> np.ndarray:
    """The exact probability of each tag at each word (batch, time, tags); zeros on padding and where no tagging is
    possible."""
    return backward(emissions, lengths, chain, forward(emissions, lengths, chain))[1]


def backward(
    emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain, lattice: Lattice
) -> tuple[np.ndarray, np.ndarray]:
    """Backward scores, without the emission of their own word, and marginals; both (batch, time, tags)."""
    emissions, lengths = prepare_emissions(emissions, lengths, chain)
    # one row of betas per sequence: a batch of one has one anyway
    betas, probabilities = np.full(emissions.shape, -np.inf), np.zeros(emissions.shape)
    arguments = emissions, lengths, chain.transitions, *_factors(chain), chain.end, *lattice
    ignored = np.zeros((1, 1)), np.zeros(chain.tags), np.zeros(chain.tags)
    _backward(*arguments, np.ones(len(lengths)), False, betas, probabilities, *ignored)
    return betas, probabilities
