"""Numbers of association: how much more often two things meet than chance would have it.

All take `both` (a word among the places looked at), `near` (all those places), `word` (the word anywhere) and `all`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def expected(near: float | Array, word: Array, everything: float | Array) -> Array:
    """How often chance alone would have put the word there."""
    return near * (word / everything)


def log_likelihood(both: Array, near: float, word: Array, everything: float) -> Array:
    """Dunning's G² of the table of four cells, negative where the word is rarer than by chance."""
    rows, columns = np.array([near, everything - near], float), np.array([word, everything - word], float)
    seen = np.array([[both, word - both], [near - both, everything - near - word + both]], float)
    total = 0.0
    for i in range(2):  # in the word's column, or not
        for j in range(2):  # near, or not
            cell, chance = seen[i, j], rows[j] * columns[i] / everything
            total = total + np.where(
                cell > 0, cell * np.log(np.maximum(cell, 1e-300) / np.maximum(chance, 1e-300)), 0.0
            )
    sign = np.where(both < expected(near, word, everything), -1.0, 1.0)
    return sign * 2 * np.maximum(total, 0.0)


def t_score(both: Array, near: float, word: Array, everything: float) -> Array:
    """The difference from chance in standard deviations of the count."""
    return (both - expected(near, word, everything)) / np.sqrt(both)


def pmi(both: Array, near: float, word: Array, everything: float) -> Array:
    """Pointwise mutual information, in bits; it favours rare words."""
    return np.log2(both / expected(near, word, everything))


def pmi2(both: Array, near: float, word: Array, everything: float) -> Array:
    """PMI with the count squared (Daille), which favours rare words less."""
    return pmi(both, near, word, everything) + np.log2(both)


def pmi3(both: Array, near: float, word: Array, everything: float) -> Array:
    """PMI with the count cubed (Daille)."""
    return pmi(both, near, word, everything) + 2 * np.log2(both)


def npmi(both: Array, near: float, word: Array, everything: float) -> Array:
    """PMI as a share of the most it could be, from −1 to 1 (Bouma)."""
    most = -np.log2(both / everything)
    return np.divide(pmi(both, near, word, everything), most, out=np.ones(len(both)), where=most > 0)


def count(both: Array, near: float, word: Array, everything: float) -> Array:
    """The plain count."""
    return np.asarray(both, float)


MEASURES: dict[str, Callable[..., Array]] = {
    "log-likelihood": log_likelihood,
    "t-score": t_score,
    "pmi": pmi,
    "pmi2": pmi2,
    "pmi3": pmi3,
    "npmi": npmi,
    "count": count,
}

# --- dispersion: `parts` has a row per word and a column per part of the text ---------------------------------------


def juilland(parts: Array) -> Array:
    """Juilland's D over equal parts: 1 where the word is spread evenly, 0 where it is all in one."""
    mean = parts.mean(1)
    return 1 - np.divide(parts.std(1), mean, out=np.zeros(len(parts)), where=mean > 0) / np.sqrt(parts.shape[1] - 1)


def gries(parts: Array, sizes: Array) -> Array:
    """Gries' DP: 0 where the word is spread as the text is, near 1 where it is all in a small part of it."""
    shares = parts / np.maximum(parts.sum(1, keepdims=True), 1)
    return np.abs(shares - sizes / sizes.sum()).sum(1) / 2


def part_of(places: Array, size: int, parts: int) -> Array:
    """Which of so many equal parts of a text of this size each place is in."""
    return places.astype(np.int64) * parts // size


def part_sizes(size: int, parts: int) -> Array:
    """How many places each part has."""
    edges = -(-np.arange(parts + 1) * size // parts)
    return np.diff(edges)
