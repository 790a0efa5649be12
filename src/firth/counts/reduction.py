"""Wide sparse rows made short and dense: truncated SVD (LSA), PPMI with SVD, Hellinger PCA.

`ppmi_vectors`, `lsa` and `hellinger` give the words and a row of float32 for each, as `WordVectors` takes them.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, svds

from firth.counts import matrix
from firth.counts.cooccurrence import cooccurrence
from firth.counts.vocabulary import Vocabulary
from firth.errors import FirthError, unknown

_SPARE = 16  # directions tried beyond those asked for
_ROUNDS = 4  # power iterations: each raises the singular values' odds to the next even power
Method = Literal["exact", "randomized"]
Named = tuple[tuple[str, ...], np.ndarray]


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
        return _dense(rows, width, centred)
    operator = _centred(rows) if centred else aslinearoperator(rows)
    return _signed(*METHODS[method](operator, width, seed))


def _dense(rows: Any, width: int, centred: bool) -> Factors:
    full = rows if isinstance(rows, np.ndarray) else rows.toarray()
    left, values, right = np.linalg.svd(full - full.mean(0) if centred else full, full_matrices=False)
    return _signed(left[:, :width], values[:width], right[:width])


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


def ppmi_vectors(
    vocabulary: Vocabulary,
    ids: np.ndarray,
    starts: np.ndarray,
    *,
    width: int = 100,
    shift: float = 1.0,
    smoothing: float = 0.75,
    exponent: float = 0.5,
    method: Method = "exact",
    seed: int = 0,
    **window: Any,
) -> Named:
    """Word vectors from the SVD of PPMI; further options are those of `cells` (window, side, distance, limit, …).

    ½ is the exponent that Levy, Goldberg and Dagan (2015) advise; 1 is classic, 0 whitens."""
    counts = cooccurrence(ids, starts, len(vocabulary), **window)
    association = matrix.ppmi(counts, shift=shift, smoothing=smoothing)
    return vocabulary.words, factor(association, width, method=method, seed=seed).rows(exponent)


def lsa(
    vocabulary: Vocabulary,
    ids: np.ndarray,
    starts: np.ndarray,
    *,
    width: int = 100,
    weighting: Literal["count", "log10", "smooth"] = "log10",
    exponent: float = 1.0,
    method: Method = "exact",
    seed: int = 0,
) -> Named:
    """Word vectors from the SVD of the (weighed) term-document matrix: latent semantic analysis."""
    bags = matrix.bag_of_words(ids, starts, len(vocabulary))
    weighed = bags if weighting == "count" else matrix.tfidf(bags, weighting)
    return vocabulary.words, factor(weighed.T.tocsr(), width, method=method, seed=seed).rows(exponent)


def hellinger(
    vocabulary: Vocabulary,
    ids: np.ndarray,
    starts: np.ndarray,
    *,
    width: int = 100,
    method: Method = "exact",
    seed: int = 0,
    **window: Any,
) -> Named:
    """Word vectors from the PCA of the roots of each word's shares of neighbours (Lebret and Collobert 2014)."""
    rows = matrix.hellinger_rows(cooccurrence(ids, starts, len(vocabulary), **window))
    return vocabulary.words, factor(rows, width, centred=True, method=method, seed=seed).rows()
