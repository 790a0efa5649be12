"""Wide sparse rows made short and dense: truncated SVD (LSA), PPMI with SVD, Hellinger PCA.

`reduce_ppmi`, `reduce_documents` and `reduce_hellinger` take counts; the `rows` of what they give are word vectors.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, svds

from firth.counts import matrix
from firth.errors import FirthError, unknown

_SPARE = 16  # directions tried beyond those asked for
_ROUNDS = 4  # power iterations: each raises the singular values' odds to the next even power
Method = Literal["exact", "randomized"]


class Factors(NamedTuple):
    """left · diag(values) · rightᵀ, values falling; in each left column the entry of largest size is positive."""

    left: np.ndarray  # (rows, width)
    values: np.ndarray  # (width,)
    right: np.ndarray  # (columns, width)

    def rows(self, exponent: float = 1.0) -> np.ndarray:
        """A vector for each row, the columns weighted by the singular values to this power (0: none)."""
        return np.ascontiguousarray(self.left * self.values**exponent, np.float32)

    def columns(self, exponent: float = 1.0) -> np.ndarray:
        """A vector for each column, likewise."""
        return np.ascontiguousarray(self.right * self.values**exponent, np.float32)


def factor(
    rows: csr_array | np.ndarray,
    width: int,
    *,
    centred: bool = False,
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """The `width` largest singular values and their vectors; `centred` takes the columns' means off first (PCA)."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if not 1 <= width <= min(rows.shape):
        what = f"{width} dimensions from {rows.shape[0]:,} rows and {rows.shape[1]:,} columns"
        raise FirthError(what, do=f"choose a width from 1 to {min(rows.shape)}")
    rows = rows.astype(np.float64)
    if width > min(rows.shape) // 2 or min(rows.shape) <= 64:  # too few for the sparse methods, small enough without
        found = _dense(rows, width, centred)
    else:
        operator = _centred(rows) if centred else aslinearoperator(rows)
        found = _signed(*METHODS[method](operator, width, seed))
    return found if centred else _silent(found, rows)


def _dense(rows: Any, width: int, centred: bool) -> Factors:
    full = rows if isinstance(rows, np.ndarray) else rows.toarray()
    left, values, right = np.linalg.svd(full - full.mean(0) if centred else full, full_matrices=False)
    return _signed(left[:, :width], values[:width], right[:width])


def _silent(found: Factors, rows: Any) -> Factors:
    """Zeros for rows and columns of zeros, where rounding leaves something that has a direction."""
    sizes = abs(rows)
    left, right = (np.asarray(sizes.sum(axis)).ravel() > 0 for axis in (1, 0))
    return Factors(found.left * left[:, None], found.values, found.right * right[:, None])


def _centred(rows: Any) -> LinearOperator:
    """The matrix less the means of its columns, never written out."""
    means = np.asarray(rows.mean(0)).ravel()
    return LinearOperator(
        shape=rows.shape,
        dtype=np.float64,
        matvec=lambda x: rows @ x.ravel() - means @ x.ravel(),
        rmatvec=lambda y: rows.T @ y.ravel() - means * y.sum(),
        matmat=lambda x: rows @ x - means @ x,
        rmatmat=lambda y: rows.T @ y - np.outer(means, y.sum(0)),
    )


def _exact(operator: LinearOperator, width: int, seed: int) -> tuple[np.ndarray, ...]:
    """Lanczos iteration until converged; what it cannot start on (all zeros) or end with goes the other way."""
    start = np.random.default_rng(seed).standard_normal(min(operator.shape))
    try:
        return svds(operator, width, v0=start, solver="arpack")
    except ArpackError:
        return _randomized(operator, width, seed)


def _randomized(operator: LinearOperator, width: int, seed: int) -> tuple[np.ndarray, ...]:
    """A random projection sharpened by power iterations (Halko, Martinsson and Tropp 2011): quicker, nearly as good."""
    tried = min(width + _SPARE, *operator.shape)
    basis = np.random.default_rng(seed).standard_normal((operator.shape[1], tried))
    basis = np.linalg.qr(operator.matmat(basis))[0]
    for _ in range(_ROUNDS):
        basis = np.linalg.qr(operator.rmatmat(basis))[0]
        basis = np.linalg.qr(operator.matmat(basis))[0]
    left, values, right = np.linalg.svd(operator.rmatmat(basis).T, full_matrices=False)
    return (basis @ left)[:, :width], values[:width], right[:width]


METHODS = {"exact": _exact, "randomized": _randomized}


def _signed(left: np.ndarray, values: np.ndarray, right: np.ndarray) -> Factors:
    """In falling order, with the signs that `Factors` promises."""
    order = np.argsort(-values, kind="stable")
    left, values, right = left[:, order], values[order], right[order].T
    largest = left[np.abs(left).argmax(0), np.arange(len(values))]
    signs = np.where(largest < 0, -1.0, 1.0)
    return Factors(left * signs, np.maximum(values, 0), right * signs)


# --- word vectors ---------------------------------------------------------------------------------------------------


def reduce_ppmi(
    counts: csr_array,
    width: int,
    *,
    shift: float = 1.0,
    smoothing: float = 0.75,
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """The SVD of the PPMI of co-occurrence.

    ½ is the exponent that Levy, Goldberg and Dagan (2015) advise; 1 is classic, 0 whitens."""
    return factor(matrix.ppmi(counts, shift=shift, smoothing=smoothing), width, method=method, seed=seed)


def reduce_documents(
    bags: csr_array,
    width: int,
    *,
    weighting: Literal["count", "log10", "smooth"] = "log10",
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """The SVD of the (weighed) terms by documents, from documents by words: latent semantic analysis."""
    weighed = bags if weighting == "count" else matrix.tfidf(bags, weighting)
    return factor(weighed.T.tocsr(), width, method=method, seed=seed)


def reduce_hellinger(counts: csr_array, width: int, *, method: Method = "exact", seed: int = 0) -> Factors:
    """The PCA of the roots of each word's shares of neighbours (Lebret and Collobert 2014)."""
    return factor(matrix.hellinger_rows(counts), width, centred=True, method=method, seed=seed)
