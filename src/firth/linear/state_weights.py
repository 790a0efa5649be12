"""Weights of features for tags, of the tags alone that a feature was seen with: products with sparse features."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from firth.jit import kernel
from firth.linear.design_matrix import DesignMatrix
from firth.linear.sparse_product import ONE, balanced


@dataclass(frozen=True, eq=False)
class TagPattern:
    """The tags that each feature has a weight for."""

    starts: np.ndarray  # uint64 (features + 1,)
    tags: np.ndarray  # uint32 (weights,)

    @classmethod
    def seen(cls, matrix: csr_array, gold: np.ndarray, count: int) -> TagPattern:
        """The tags of the words that have the feature: `gold` (words,) are numbers below `count`."""
        words = np.arange(len(gold), dtype=np.int32)
        of_word = csr_array((np.ones(len(gold), np.float32), (words, gold)), shape=(len(gold), count))
        together = csr_array(matrix.T @ of_word)
        together.sort_indices()
        return cls(together.indptr.astype(np.uint64), together.indices.astype(np.uint32))

    @classmethod
    def every(cls, features: int, count: int) -> TagPattern:
        """All tags."""
        starts = np.arange(features + 1, dtype=np.uint64) * np.uint64(count)
        return cls(starts, np.tile(np.arange(count, dtype=np.uint32), features))

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.tags)

    def matrix(self, weights: np.ndarray, count: int) -> csr_array:
        """The weights as a sparse matrix (features, tags)."""
        parts = (weights, self.tags.astype(np.int32), self.starts.astype(np.int64))
        return csr_array(parts, shape=(len(self.starts) - 1, count))


class StateScores:
    """Scores of tags by the features of words, and the gradient of the weights, by several threads."""

    def __init__(
        self, design: DesignMatrix, pattern: TagPattern, count: int, pool: ThreadPoolExecutor, parts: int
    ) -> None:
        self.pattern, self.count, self._pool = pattern, count, pool
        self._rows, self._columns = design.by_rows, design.by_columns
        self._row_parts = balanced(design.by_rows.matrix.indptr, parts)
        self._column_parts = balanced(design.by_columns.matrix.indptr, parts)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """The scores (words, tags)."""
        out = np.zeros((self._rows.shape[0], self.count))
        pattern = (self.pattern.starts, self.pattern.tags, weights)
        self._run(add_scores, self._row_parts, (*self._rows.arrays, *pattern), out)
        return out

    def gradient(self, residuals: np.ndarray) -> np.ndarray:
        """The derivatives of the weights from those of the scores (words, tags)."""
        out = np.zeros(self.pattern.size)
        pattern = (self.pattern.starts, self.pattern.tags, residuals)
        self._run(add_gradient, self._column_parts, (*self._columns.arrays, *pattern), out)
        return out

    def _run(
        self, function: Callable[..., None], borders: list[int], arguments: tuple[np.ndarray, ...], out: np.ndarray
    ) -> None:
        ranges = pairwise(borders)
        list(self._pool.map(lambda part: function(*arguments, np.uint64(part[0]), np.uint64(part[1]), out), ranges))


@kernel
def add_scores(starts, columns, values, pattern, tags, weights, first, last, out):
    """Add the scores of words `first` to `last`."""
    for word in range(first, last):
        for at in range(starts[word], starts[word + ONE]):
            value, feature = values[at], columns[at]
            for place in range(pattern[feature], pattern[feature + ONE]):
                out[word, tags[place]] += value * weights[place]


@kernel
def add_gradient(starts, words, values, pattern, tags, residuals, first, last, out):
    """Add the derivatives of the weights of features `first` to `last`."""
    for feature in range(first, last):
        for at in range(starts[feature], starts[feature + ONE]):
            value, word = values[at], words[at]
            for place in range(pattern[feature], pattern[feature + ONE]):
                out[place] += value * residuals[word, tags[place]]
