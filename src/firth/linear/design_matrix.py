"""The features of the training texts as the optimiser needs them.

Columns with a single entry, in the same row and with the same value, have the same weight at the minimum and on the way
there. A bag of n-grams consists mostly of such columns: k of them become one, its value times √k, which leaves the
loss, the L2 penalty and the steps of L-BFGS as they were.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from firth.linear.sparse_product import SparseProduct


class DesignMatrix:
    """A matrix (rows, columns) with equal single entries merged, by rows and by columns."""

    def __init__(self, matrix: csr_array, threads: int = 1) -> None:
        self.rows, self.columns = matrix.shape
        self.group, self.roots = _group(matrix)
        merged = _merge(matrix, self.group, self.roots)
        self.by_rows, self.by_columns = SparseProduct(merged, threads), SparseProduct(csr_array(merged.T), threads)

    @property
    def size(self) -> int:
        """The number of columns after merging."""
        return len(self.roots)

    def merge(self, values: np.ndarray) -> np.ndarray:
        """Values of the columns (columns, …), which are the same for those that were merged."""
        merged = np.empty((self.size, *values.shape[1:]))
        known = self.group >= 0
        merged[self.group[known]] = values[known]
        return merged

    def squares(self, row_weights: np.ndarray) -> np.ndarray:
        """The weighted sum of squares of each merged column."""
        matrix = self.by_columns.matrix
        terms = matrix.data.astype(np.float64) ** 2 * row_weights[matrix.indices]
        return np.add.reduceat(np.append(terms, 0.0), matrix.indptr[:-1]) if self.size else np.zeros(0)

    def expand(self, weights: np.ndarray) -> np.ndarray:
        """The weights of all columns (columns, …) from those of the merged ones; 0 for a column without an entry."""
        roots = self.roots.reshape(-1, *(1 for _ in weights.shape[1:]))
        return np.concatenate([weights / roots, np.zeros((1, *weights.shape[1:]))])[self.group]


def _group(matrix: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """For each column the merged one it belongs to (-1: it is empty), and √k of each; the fullest columns first, as
    neighbours in memory."""
    entries = np.bincount(matrix.indices, minlength=matrix.shape[1])
    single = entries[matrix.indices] == 1
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[single]
    columns, values = matrix.indices[single], matrix.data[single]
    order = np.lexsort((values, rows))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(rows[order]) != 0) | (np.diff(values[order]) != 0)
    several = np.flatnonzero(entries > 1)
    several = several[np.argsort(-entries[several], kind="stable")]
    group = np.full(matrix.shape[1], -1, np.int32)
    group[several] = np.arange(len(several))
    group[columns[order]] = len(several) + np.cumsum(new) - 1
    return group, np.sqrt(np.bincount(group[group >= 0], minlength=len(several)).astype(np.float64))


def _merge(matrix: csr_array, group: np.ndarray, roots: np.ndarray) -> csr_array:
    """The matrix of merged columns."""
    columns = group[matrix.indices]
    values = (matrix.data / roots[columns]).astype(matrix.dtype)
    merged = csr_array((values, columns, matrix.indptr.copy()), shape=(matrix.shape[0], len(roots)))
    merged.sum_duplicates()
    return merged
