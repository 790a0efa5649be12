"""Calibration: whether predictions made with probability p are right in a fraction p of cases, and how to mend it by a
temperature (Guo et al. 2017)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

from firth.display import Table
from firth.errors import FirthError, unknown

BINS = 15
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-2, 1e2


class Reliability(NamedTuple):
    """Predictions in bins of their confidence; empty bins are left out."""

    low: np.ndarray  # (bins,): edges
    high: np.ndarray
    counts: np.ndarray
    confidence: np.ndarray  # the mean
    accuracy: np.ndarray

    @property
    def expected_calibration_error(self) -> float:
        """The expected calibration error (ECE): the mean of |accuracy − confidence| over predictions."""
        return float(np.average(np.abs(self.accuracy - self.confidence), weights=self.counts))

    @property
    def maximum_calibration_error(self) -> float:
        """The largest |accuracy − confidence| of a bin."""
        return float(np.abs(self.accuracy - self.confidence).max())

    def table(self) -> Table[dict[str, Any]]:
        """A row for each bin: the reliability diagram as numbers."""
        names = "count", "mean confidence", "accuracy"
        rows = zip(*(column.tolist() for column in self), strict=True)
        return Table([{"confidence": f"{low:.3g}–{high:.3g}", **dict(zip(names, values, strict=True))}
                      for low, high, *values in rows])  # fmt: skip


def reliability(
    confidence: np.ndarray, correct: np.ndarray, bins: int = BINS, widths: Literal["equal", "quantile"] = "equal"
) -> Reliability:
    """Bins of the confidence (predictions,) in [0, 1], each with its fraction that is `correct`: bins of equal width,
    or of equal numbers of predictions."""
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, float)
    if not len(confidence) or confidence.shape != correct.shape:
        what = f"{confidence.size} confidences and {correct.size} outcomes"
        raise FirthError(what, do="pass one of each for each prediction")
    if not (confidence.min() >= 0 and confidence.max() <= 1 + 1e-6):
        raise FirthError("a confidence that is no probability", do="pass values from 0 to 1")
    edges = _edges(confidence, bins, widths)
    at = np.clip(np.searchsorted(edges, confidence, "left") - 1, 0, len(edges) - 2)  # a bin holds its upper edge
    counts = np.bincount(at, minlength=len(edges) - 1)
    sums = [np.bincount(at, weights=values, minlength=len(counts)) for values in (confidence, correct)]
    full = counts > 0
    means = [values[full] / counts[full] for values in sums]
    return Reliability(edges[:-1][full], edges[1:][full], counts[full], *means)


def top_label(probabilities: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Confidence and correctness of the most probable label: probabilities (texts, labels), gold ids (texts,)."""
    best = probabilities.argmax(1)
    return np.take_along_axis(probabilities, best[:, None], 1)[:, 0], best == np.asarray(gold)


def brier_score(probabilities: np.ndarray, gold: np.ndarray) -> float:
    """The mean squared distance of the probabilities (texts, labels) from the truth, 0 to 2 (Brier 1950)."""
    truth = np.eye(probabilities.shape[1])[np.asarray(gold)]
    return float(((probabilities - truth) ** 2).sum(1).mean())


def mean_nll(logits: np.ndarray, gold: np.ndarray, temperature: float = 1.0) -> float:
    """The mean negative log-likelihood of the gold ids under softmax(logits / temperature)."""
    return float(-np.take_along_axis(log_softmax(logits / temperature, 1), np.asarray(gold)[:, None], 1).mean())


def fit_temperature(logits: np.ndarray, gold: np.ndarray) -> float:
    """The temperature that makes the gold ids (texts,) most likely under softmax(logits / temperature), logits (texts,
    labels), on data that nothing else was trained or chosen on.

    The loss is convex in 1/temperature: its slope, mean expected logit − gold logit, has at most one root, which is
    bracketed between MIN_TEMPERATURE and MAX_TEMPERATURE."""
    logits = np.asarray(logits, float)
    if logits.ndim != 2 or not len(logits) or len(logits) != len(gold):
        raise FirthError(f"logits {logits.shape} and {len(gold)} labels", do="pass logits (texts, labels)")
    if not np.isfinite(logits).all():
        raise FirthError("logits that are not finite numbers", do="leave out labels that constraints forbid")
    gold_logits = np.take_along_axis(logits, np.asarray(gold)[:, None], 1)[:, 0]

    def slope(log_inverse: float) -> float:
        expected = (softmax(logits * np.exp(log_inverse), 1) * logits).sum(1)
        return float((expected - gold_logits).mean())

    low, high = -np.log(MAX_TEMPERATURE), -np.log(MIN_TEMPERATURE)
    if slope(low) >= 0:
        return MAX_TEMPERATURE  # the logits say nothing, or the opposite
    if slope(high) <= 0:
        return MIN_TEMPERATURE  # all right: nothing to learn from
    return float(np.exp(-brentq(slope, low, high, xtol=1e-10)))


def binary_logits(logits: np.ndarray) -> np.ndarray:
    """Logits of independent labels (texts, labels) as pairs (texts × labels, 2) of no and yes: sigmoid as softmax."""
    return np.stack([np.zeros(logits.size), np.asarray(logits, float).ravel()], 1)


def _edges(confidence: np.ndarray, bins: int, widths: str) -> np.ndarray:
    if bins < 1:
        raise FirthError(f"{bins} bins", do="ask for 1 or more")
    if widths == "equal":
        return np.linspace(0.0, 1.0, bins + 1)
    if widths != "quantile":
        raise unknown("widths", widths, ("equal", "quantile"))
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, bins + 1)))
    return edges if len(edges) > 1 else np.array([edges[0], edges[0]])
