"""Naive Bayes as a linear model: the joint log-probability of a text and a label is linear in the text's features."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.sparse import csr_array

Parameters = tuple[np.ndarray, np.ndarray]  # weights (columns, labels), intercept (labels,)


def fit(matrix: csr_array, labels: np.ndarray, count: int, event_model: str, alpha: float) -> Parameters:
    """The weights and the intercept; `labels` (rows,) are numbers below `count`."""
    texts = np.bincount(labels, minlength=count).astype(np.float64)
    return EVENT_MODELS[event_model](matrix, labels, texts, alpha)


def label_counts(matrix: csr_array, labels: np.ndarray, count: int) -> np.ndarray:
    """The sum of the rows of each label (columns, labels), float64."""
    ones = np.ones(len(labels))
    of_label = csr_array((ones, (np.arange(len(labels)), labels)), shape=(len(labels), count))
    return (csr_array(matrix, dtype=np.float64).T @ of_label).toarray()


def log_priors(texts: np.ndarray) -> np.ndarray:
    """The logarithm of each label's share of the texts."""
    return np.log(texts) - np.log(texts.sum())


def _multinomial(matrix: csr_array, labels: np.ndarray, texts: np.ndarray, alpha: float) -> Parameters:
    """Each occurrence of a feature is an event."""
    counts = label_counts(matrix, labels, len(texts)) + alpha
    return np.log(counts / counts.sum(0)), log_priors(texts)


def _bernoulli(matrix: csr_array, labels: np.ndarray, texts: np.ndarray, alpha: float) -> Parameters:
    """Each feature is in a text or not, and both are events; the matrix must be binary."""
    there = (label_counts(matrix, labels, len(texts)) + alpha) / (texts + 2 * alpha)
    absent = np.log1p(-there)
    return np.log(there) - absent, log_priors(texts) + absent.sum(0)


def _complement(matrix: csr_array, labels: np.ndarray, texts: np.ndarray, alpha: float) -> Parameters:
    """A label is improbable if the text is like those of all others; no priors (Rennie et al. 2003)."""
    counts = label_counts(matrix, labels, len(texts))
    others = counts.sum(1, keepdims=True) - counts + alpha
    return -np.log(others / others.sum(0)), np.zeros(len(texts))


EVENT_MODELS: Mapping[str, Callable[..., Parameters]] = {
    "multinomial": _multinomial,
    "bernoulli": _bernoulli,
    "complement": _complement,
}
