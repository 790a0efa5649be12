"""Power laws of the error: those that made the points are found again."""

import numpy as np
import pytest

from firth.metrics.power_law import PowerLaw, fit_power_law

SIZES = np.array([50, 100, 200, 400, 800])


@pytest.mark.parametrize("law", [PowerLaw(0.05, 2.0, 0.5), PowerLaw(0.0, 1.0, 0.3), PowerLaw(0.1, 3.0, 0.8)])
def test_a_law_without_noise_is_found(law):
    found = fit_power_law(SIZES, law(SIZES))
    assert found(1600) == pytest.approx(float(law(1600)), abs=2e-3)
    assert found(SIZES) == pytest.approx(law(SIZES), abs=2e-3)


def test_neither_part_is_negative():
    rising, steep = fit_power_law(SIZES, np.linspace(0.1, 0.3, 5)), fit_power_law(SIZES, 100.0 / SIZES**3)
    assert rising.factor == 0 and rising.asymptote == pytest.approx(0.2)
    assert steep.asymptote >= 0 and steep.factor > 0
    assert (np.diff(steep(np.arange(10, 100))) < 0).all()


def test_weights_decide():
    errors = np.array([0.5, 0.4, 0.3, 0.2, 0.9])
    heavy = fit_power_law(SIZES, errors, np.array([1, 1, 1, 1, 1e6]))
    light = fit_power_law(SIZES, errors, np.array([1, 1, 1, 1, 1e-6]))
    assert heavy(800) == pytest.approx(0.9, abs=0.01) and light(800) < 0.25


def test_equal_errors_stay():
    assert fit_power_law(SIZES, np.full(5, 0.25))(10_000) == pytest.approx(0.25)
