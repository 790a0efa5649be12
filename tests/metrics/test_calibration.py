"""Calibration against scikit-learn, worked examples, and data whose temperature is known."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from firth.errors import FirthError
from firth.metrics import calibration
from firth.metrics.calibration import (
    binary_logits,
    brier_score,
    fit_temperature,
    mean_nll,
    reliability,
    top_label,
)


def sampled(texts=3000, labels=4, temperature=1.0, seed=0):
    """Logits, and labels drawn from softmax(logits / temperature)."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(texts, labels)) * 2
    gold = (softmax(logits / temperature, 1).cumsum(1) > rng.random((texts, 1))).argmax(1)
    return logits, gold


@pytest.mark.parametrize(("widths", "strategy"), [("equal", "uniform"), ("quantile", "quantile")])
def test_bins_are_those_of_scikit_learn(widths, strategy):
    sklearn = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(0)
    confidence = np.concatenate([rng.random(500), [0.0, 0.1, 0.2, 1.0]])
    correct = rng.random(len(confidence)) < confidence**2
    right, mean = sklearn.calibration_curve(correct, confidence, n_bins=10, strategy=strategy)
    bins = reliability(confidence, correct, 10, widths)
    np.testing.assert_allclose(bins.accuracy, right)
    np.testing.assert_allclose(bins.confidence, mean)
    assert bins.counts.sum() == len(confidence)


def test_errors_by_hand():
    """Two bins: 0.7 and 0.9 sure, half right; 0.2 and 0.4 sure, none right."""
    bins = reliability(np.array([0.7, 0.9, 0.2, 0.4]), np.array([1, 0, 0, 0]), 2)
    assert bins.expected_calibration_error == pytest.approx((0.3 + 0.3) / 2)
    assert bins.maximum_calibration_error == pytest.approx(0.3)
    assert bins.table()[0] == {
        "confidence": "0–0.5", "count": 2, "mean confidence": pytest.approx(0.3), "accuracy": 0.0
    }  # fmt: skip


def test_a_distribution_that_is_right_is_calibrated_and_needs_no_temperature():
    logits, gold = sampled(30_000)
    assert fit_temperature(logits, gold) == pytest.approx(1.0, abs=0.03)
    assert reliability(*top_label(softmax(logits, 1), gold)).expected_calibration_error < 0.02


@pytest.mark.parametrize("temperature", [0.4, 2.5])
def test_the_temperature_is_found_and_mends_the_calibration(temperature):
    logits, gold = sampled(temperature=temperature)
    fitted = fit_temperature(logits, gold)
    assert fitted == pytest.approx(temperature, rel=0.1)
    search = minimize_scalar(lambda t: mean_nll(logits, gold, t), bounds=(0.01, 100), options={"xatol": 1e-9})
    bounded = minimize_scalar(lambda t: mean_nll(logits, gold, t), bounds=(0.05, 20), method="bounded")
    assert mean_nll(logits, gold, fitted) <= min(search.fun, bounded.fun) + 1e-9
    before, after = (
        reliability(*top_label(softmax(logits / t, 1), gold)).expected_calibration_error for t in (1.0, fitted)
    )
    assert after < before / 2


def test_independent_labels():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(4000, 3)) * 2
    gold = rng.random(logits.shape) < 1 / (1 + np.exp(-logits / 2.0))
    assert fit_temperature(binary_logits(logits), gold.ravel().astype(int)) == pytest.approx(2.0, rel=0.1)


def test_temperatures_at_the_ends():
    logits = np.array([[3.0, 0.0], [0.0, 2.0]])
    assert fit_temperature(logits, np.array([0, 1])) == calibration.MIN_TEMPERATURE  # all right
    assert fit_temperature(logits, np.array([1, 0])) == calibration.MAX_TEMPERATURE  # all wrong
    assert fit_temperature(np.zeros((2, 2)), np.array([1, 0])) == calibration.MAX_TEMPERATURE


def test_nll_and_brier_are_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    logits, gold = sampled(200)
    probabilities = softmax(logits, 1)
    assert mean_nll(logits, gold) == pytest.approx(metrics.log_loss(gold, probabilities))
    assert brier_score(probabilities[:, :2], gold % 2) == pytest.approx(
        np.mean([(p[0] - (g == 0)) ** 2 + (p[1] - (g == 1)) ** 2 for p, g in zip(probabilities, gold % 2, strict=True)])
    )
    assert brier_score(np.array([[0.0, 1.0]]), np.array([0])) == 2.0


def test_mistakes_are_named():
    with pytest.raises(FirthError, match="2 confidences and 1 outcomes"):
        reliability(np.array([0.1, 0.2]), np.array([1]))
    with pytest.raises(FirthError, match="no probability"):
        reliability(np.array([1.5]), np.array([1]))
    with pytest.raises(FirthError, match="0 bins"):
        reliability(np.array([0.5]), np.array([1]), 0)
    with pytest.raises(FirthError, match="not finite"):
        fit_temperature(np.array([[0.0, -np.inf]]), np.array([0]))
    with pytest.raises(FirthError, match="pass logits"):
        fit_temperature(np.zeros((0, 2)), np.array([]))
