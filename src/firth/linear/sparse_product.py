"""Products of a sparse matrix and a dense one, by several threads; the result does not depend on their number.

Places in arrays are unsigned: numba tests signed ones for being negative, which takes more time than the products.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import csr_array

from firth.jit import kernel

ONE = np.uint64(1)


class SparseProduct:
    """A sparse matrix (rows, columns) to be multiplied many times."""

    def __init__(self, matrix: csr_array, threads: int = 1) -> None:
        self.matrix, self.shape = matrix, matrix.shape
        columns = matrix.indices.view(f"u{matrix.indices.dtype.itemsize}")
        self.arrays = (matrix.indptr.astype(np.uint64), columns, matrix.data)
        self._borders = balanced(matrix.indptr, threads)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, dense: np.ndarray) -> np.ndarray:
        """The product with a float64 vector (columns,) or matrix (columns, width)."""
        out = np.empty((self.shape[0], *dense.shape[1:]))
        multiply: Callable[..., None] = times_vector if dense.ndim == 1 else times_matrix
        parts = zip(self._borders[:-1], self._borders[1:], strict=True)
        work = [(*self.arrays, dense, np.uint64(first), np.uint64(last), out) for first, last in parts]
        if self._pool is None:
            multiply(*work[0])
        else:
            list(self._pool.map(lambda arguments: multiply(*arguments), work))
        return out


def balanced(starts: np.ndarray, parts: int) -> list[int]:
    """The rows where each of so many parts begins, and where the last ends: about equal numbers of entries."""
    entries = np.linspace(0, starts[-1], parts + 1)[1:-1]
    return [0, *np.searchsorted(starts, entries).tolist(), len(starts) - 1]


@kernel
def times_vector(starts, columns, values, vector, first, last, out):
    """Rows `first` to `last` of the product with a vector."""
    for row in range(first, last):
        total = 0.0
        for at in range(starts[row], starts[row + ONE]):
            total += values[at] * vector[columns[at]]
        out[row] = total


@kernel
def times_matrix(starts, columns, values, dense, first, last, out):
    """The same with a matrix."""
    width = np.uint64(dense.shape[1])
    for row in range(first, last):
        for label in range(width):
            out[row, label] = 0.0
        for at in range(starts[row], starts[row + ONE]):
            value, column = values[at], columns[at]
            for label in range(width):
                out[row, label] += value * dense[column, label]
