"""Dimensionality reduction of sparse count matrices: truncated SVD, PPMI with SVD, LSA, Hellinger PCA.

`ppmi_svd`, `lsa` and `hellinger_pca` take counts; the `rows` of the factors they return are word vectors.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, svds

from firth.embeddings import document_term
from firth.errors import FirthError, unknown

_OVERSAMPLES = 16  # random directions beyond the target rank
_POWER_ITERATIONS = 4  # each raises the ratios of singular values to the next even power
Method = Literal["exact", "randomized"]


class Factors(NamedTuple):
    """left · diag(singular_values) · rightᵀ, values descending; in each left column the largest entry by magnitude is
    positive."""

    left: np.ndarray  # (rows, width)
    singular_values: np.ndarray  # (width,)
    right: np.ndarray  # (columns, width)

    def rows(self, exponent: float = 1.0) -> np.ndarray:
        """A vector for each row, its dimensions weighted by the singular values to this power (0: unweighted)."""
        return np.ascontiguousarray(self.left * self.singular_values**exponent, np.float32)

    def columns(self, exponent: float = 1.0) -> np.ndarray:
        """A vector for each column, weighted likewise."""
        return np.ascontiguousarray(self.right * self.singular_values**exponent, np.float32)


def truncated_svd(
    rows: csr_array | np.ndarray,
    width: int,
    *,
    center: bool = False,
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """The `width` largest singular values and their vectors; `center` subtracts the columns' means first (PCA)."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if not 1 <= width <= min(rows.shape):
        what = f"{width} dimensions from {rows.shape[0]:,} rows and {rows.shape[1]:,} columns"
        raise FirthError(what, do=f"choose a width from 1 to {min(rows.shape)}")
    rows = rows.astype(np.float64)
    if width > min(rows.shape) // 2 or min(rows.shape) <= 64:  # too few for the sparse solvers, small enough for LAPACK
        factors = _dense(rows, width, center)
    else:
        operator = _centered_operator(rows) if center else aslinearoperator(rows)
        factors = _sort_and_flip(*METHODS[method](operator, width, seed))
    return factors if center else _zero_empty(factors, rows)


def _dense(rows: Any, width: int, center: bool) -> Factors:
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    left, singular_values, right = np.linalg.svd(dense - dense.mean(0) if center else dense, full_matrices=False)
    return _sort_and_flip(left[:, :width], singular_values[:width], right[:width])


def _zero_empty(factors: Factors, rows: Any) -> Factors:
    """Zero vectors for rows and columns that are all zero, where rounding errors would leave an arbitrary direction."""
    magnitudes = abs(rows)
    left, right = (np.asarray(magnitudes.sum(axis)).ravel() > 0 for axis in (1, 0))
    return Factors(factors.left * left[:, None], factors.singular_values, factors.right * right[:, None])


def _centered_operator(rows: Any) -> LinearOperator:
    """The matrix minus the means of its columns, as an operator: the dense matrix is never formed."""
    means = np.asarray(rows.mean(0)).ravel()
    return LinearOperator(
        shape=rows.shape,
        dtype=np.float64,
        matvec=lambda x: rows @ x.ravel() - means @ x.ravel(),
        rmatvec=lambda y: rows.T @ y.ravel() - means * y.sum(),
        matmat=lambda x: rows @ x - means @ x,
        rmatmat=lambda y: rows.T @ y - np.outer(means, y.sum(0)),
    )


def _lanczos(operator: LinearOperator, width: int, seed: int) -> tuple[np.ndarray, ...]:
    """Lanczos iteration (ARPACK) to convergence; falls back to randomized SVD where ARPACK fails (a zero matrix)."""
    start = np.random.default_rng(seed).standard_normal(min(operator.shape))
    try:
        return svds(operator, width, v0=start, solver="arpack")
    except ArpackError:
        return _randomized(operator, width, seed)


def _randomized(operator: LinearOperator, width: int, seed: int) -> tuple[np.ndarray, ...]:
    """Randomized SVD with power iterations (Halko, Martinsson and Tropp 2011): faster, nearly as accurate."""
    rank = min(width + _OVERSAMPLES, *operator.shape)
    basis = np.random.default_rng(seed).standard_normal((operator.shape[1], rank))
    basis = np.linalg.qr(operator.matmat(basis))[0]
    for _ in range(_POWER_ITERATIONS):
        basis = np.linalg.qr(operator.rmatmat(basis))[0]
        basis = np.linalg.qr(operator.matmat(basis))[0]
    left, singular_values, right = np.linalg.svd(operator.rmatmat(basis).T, full_matrices=False)
    return (basis @ left)[:, :width], singular_values[:width], right[:width]


METHODS = {"exact": _lanczos, "randomized": _randomized}


def _sort_and_flip(left: np.ndarray, singular_values: np.ndarray, right: np.ndarray) -> Factors:
    """Descending order, and the deterministic signs that `Factors` promises."""
    order = np.argsort(-singular_values, kind="stable")
    left, singular_values, right = left[:, order], singular_values[order], right[order].T
    largest = left[np.abs(left).argmax(0), np.arange(len(singular_values))]
    signs = np.where(largest < 0, -1.0, 1.0)
    return Factors(left * signs, np.maximum(singular_values, 0), right * signs)


# --- word vectors ---------------------------------------------------------------------------------------------------


def ppmi_svd(
    counts: csr_array,
    width: int,
    *,
    shift: float = 1.0,
    context_smoothing: float = 0.75,
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """The truncated SVD of the (shifted) PPMI matrix of co-occurrence counts.

    Levy, Goldberg and Dagan (2015) advise ½ as the exponent of the singular values; 1 is classic, 0 whitens."""
    matrix = document_term.ppmi(counts, shift=shift, context_smoothing=context_smoothing)
    return truncated_svd(matrix, width, method=method, seed=seed)


def lsa(
    bags: csr_array,
    width: int,
    *,
    weighting: Literal["count", "log10", "smooth"] = "log10",
    method: Method = "exact",
    seed: int = 0,
) -> Factors:
    """Latent semantic analysis (LSA): the truncated SVD of the weighted term-document matrix, from bags of words."""
    weighted = bags if weighting == "count" else document_term.tfidf(bags, weighting)
    return truncated_svd(weighted.T.tocsr(), width, method=method, seed=seed)


def hellinger_pca(counts: csr_array, width: int, *, method: Method = "exact", seed: int = 0) -> Factors:
    """Hellinger PCA: the PCA of the square roots of each word's co-occurrence probabilities (Lebret and Collobert
    2014)."""
    return truncated_svd(document_term.hellinger_transform(counts), width, center=True, method=method, seed=seed)
