"""A dense matrix of features, such as the hidden states of a network, where a sparse one usually is."""

from __future__ import annotations

import numpy as np


class DenseMatrix:
    """What `Problem` needs of its design, without merging columns."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = np.ascontiguousarray(matrix, np.float64)
        self.rows, self.columns = self.matrix.shape
        self.roots = np.ones(self.columns)

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.columns

    def by_rows(self, weights: np.ndarray) -> np.ndarray:
        """The scores of all rows, of weights (columns, …)."""
        return self.matrix @ weights

    def by_columns(self, residuals: np.ndarray) -> np.ndarray:
        """The sum over the rows of each column times residuals (rows, …)."""
        return self.matrix.T @ residuals

    def squares(self, row_weights: np.ndarray) -> np.ndarray:
        """The weighted sum of squares of each column."""
        return np.einsum("rc,rc,r->c", self.matrix, self.matrix, row_weights)

    def expand(self, weights: np.ndarray) -> np.ndarray:
        """The weights of all columns: the same."""
        return weights


def standardise(train: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """The matrices with columns of mean 0 and standard deviation 1 in the first; a constant column becomes 0."""
    mean, deviation = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-8 * np.abs(mean) + 1e-12)
    return [(np.asarray(each, np.float64) - mean) * scale for each in (train, *others)]
