"""Association measures for collocations (log-likelihood, t-score, PMI and its variants) and measures of dispersion.

All association measures take a contingency table: `joint` (O11: a word within the windows), `window_total` (R1: all
tokens within the windows), `word_total` (C1: the word anywhere) and `corpus_size` (N).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def expected(window_total: float | Array, word_total: Array, corpus_size: float | Array) -> Array:
    """The expected joint frequency under independence (E11)."""
    return window_total * (word_total / corpus_size)


def log_likelihood(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """Dunning's log-likelihood ratio G² (Dunning 1993), negative where the word is rarer than expected."""
    rows = np.array([window_total, corpus_size - window_total], float)
    columns = np.array([word_total, corpus_size - word_total], float)
    observed = np.array(
        [[joint, word_total - joint], [window_total - joint, corpus_size - window_total - word_total + joint]], float
    )
    total = 0.0
    for i in range(2):  # the word, or any other
        for j in range(2):  # within the windows, or outside
            cell, cell_expected = observed[i, j], rows[j] * columns[i] / corpus_size
            total = total + np.where(
                cell > 0, cell * np.log(np.maximum(cell, 1e-300) / np.maximum(cell_expected, 1e-300)), 0.0
            )
    sign = np.where(joint < expected(window_total, word_total, corpus_size), -1.0, 1.0)
    return sign * 2 * np.maximum(total, 0.0)


def t_score(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """The t-score: observed minus expected frequency over the standard deviation of the observed one."""
    return (joint - expected(window_total, word_total, corpus_size)) / np.sqrt(joint)


def pmi(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """Pointwise mutual information in bits (Church and Hanks 1990); it favours rare words."""
    return np.log2(joint / expected(window_total, word_total, corpus_size))


def pmi2(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """PMI² (Daille 1994): PMI with the joint frequency squared, which favours rare words less."""
    return pmi(joint, window_total, word_total, corpus_size) + np.log2(joint)


def pmi3(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """PMI³ (Daille 1994): PMI with the joint frequency cubed."""
    return pmi(joint, window_total, word_total, corpus_size) + 2 * np.log2(joint)


def npmi(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """Normalised PMI (Bouma 2009): PMI divided by its maximum, from −1 to 1."""
    maximum = -np.log2(joint / corpus_size)
    values = pmi(joint, window_total, word_total, corpus_size)
    return np.divide(values, maximum, out=np.ones(len(joint)), where=maximum > 0)


def count(joint: Array, window_total: float, word_total: Array, corpus_size: float) -> Array:
    """The raw joint frequency."""
    return np.asarray(joint, float)


MEASURES: dict[str, Callable[..., Array]] = {
    "log-likelihood": log_likelihood,
    "t-score": t_score,
    "pmi": pmi,
    "pmi2": pmi2,
    "pmi3": pmi3,
    "npmi": npmi,
    "count": count,
}

# --- dispersion: `parts` holds frequencies, a row per word and a column per corpus part ------------------------------


def juilland_d(parts: Array) -> Array:
    """Juilland's D over equal corpus parts: 1 for an even spread, 0 if all occurrences are in one part."""
    mean = parts.mean(1)
    return 1 - np.divide(parts.std(1), mean, out=np.zeros(len(parts)), where=mean > 0) / np.sqrt(parts.shape[1] - 1)


def gries_dp(parts: Array, sizes: Array) -> Array:
    """Gries' deviation of proportions DP (2008): 0 for an even spread, near 1 if all is in a small part."""
    proportions = parts / np.maximum(parts.sum(1, keepdims=True), 1)
    return np.abs(proportions - sizes / sizes.sum()).sum(1) / 2


def part_of(positions: Array, size: int, parts: int) -> Array:
    """The part of each position when a text of this size is divided into equal parts."""
    return positions.astype(np.int64) * parts // size


def part_sizes(size: int, parts: int) -> Array:
    """The number of positions in each part."""
    edges = -(-np.arange(parts + 1) * size // parts)
    return np.diff(edges)
