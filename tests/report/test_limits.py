"""Limits that extreme values do not widen, on series made for it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.report.limits import full_limits, is_logarithmic, loss_limits, robust_limits, widen

STEPS = np.arange(1, 401)
DESCENT = (3.0 + 4.6 * np.exp(-STEPS / 20)).tolist()  # from random initialisation, 7.4, to 3


def test_a_random_initialisation_does_not_squash_the_rest():
    low, high = loss_limits([DESCENT])
    assert low == pytest.approx(3.0, abs=0.01) and high < 4.5
    outside = sum(value > high for value in DESCENT)
    assert 0 < outside < 40  # the first tenth at most


def test_a_diverged_curve_does_not_squash_the_rest():
    diverged = [*DESCENT[:200], *(4 + np.exp(np.arange(200) / 10)).tolist()]
    assert loss_limits([DESCENT, diverged])[1] < 6.0
    assert loss_limits([DESCENT, [50.0] * 10, DESCENT])[1] < 6.0


def test_an_overfitted_curve_keeps_its_best_point():
    overfitted = [7.0, 5.0, 4.0, 3.8, 4.4, 6.0, 9.0, 14.0, 20.0]
    trained = np.linspace(7.0, 0.2, 400).tolist()
    low, high = loss_limits([trained, overfitted])
    assert low == pytest.approx(0.2) and 3.8 < high < 12.0


def test_mild_overfitting_is_whole():
    overfitted = [7.0, 5.0, 4.0, 3.8, 3.9, 4.0, 4.1]
    assert loss_limits([overfitted])[1] > 4.1


def test_a_curve_that_only_rises_is_shown():
    assert loss_limits([[3.0, 4.0, 5.0, 6.0]]) == (3.0, 6.0)


def test_the_best_of_every_ordinary_curve_is_inside():
    low, high = loss_limits([DESCENT, [3.6, 3.5, 3.4], [5.0]])
    assert low <= 3.0 + 1e-6 and high >= 5.0


def test_values_that_are_not_finite_are_ignored():
    values = [5.0, math.nan, 4.0, math.inf, 3.0, -math.inf, 3.5]
    assert full_limits([values]) == (3.0, 5.0)
    assert loss_limits([values, [math.nan]])[0] == 3.0 and math.isfinite(loss_limits([values])[1])
    assert all(map(math.isfinite, robust_limits([values, [math.nan]])))


def test_a_spike_is_outside_and_ordinary_noise_is_not():
    noise = np.sin(STEPS).tolist()
    assert robust_limits([noise]) == full_limits([noise])
    low, high = robust_limits([[*noise, 100.0, -80.0]])
    assert -2.1 < low <= -0.99 and 0.99 <= high < 2.1


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), min_size=1, max_size=5))
def test_limits_are_within_the_data_in_order_and_never_empty_with_a_margin(curves):
    least, greatest = full_limits(curves)
    for limits in (robust_limits, loss_limits):
        low, high = limits(curves)
        assert least <= low <= high <= greatest
        wide = widen((low, high))
        assert wide[0] < low and high < wide[1]


def test_constant_series_have_room():
    assert widen((2.0, 2.0)) == pytest.approx((1.9, 2.1)) and widen((0.0, 0.0)) == (-1.0, 1.0)
    low, high = widen((2.0, 2.0), log_scale=True)
    assert 0 < low < 2.0 < high


def test_a_logarithmic_scale_is_for_positive_values_that_span_much():
    assert is_logarithmic((1.0, 10.0)) and not is_logarithmic((0.0, 10.0)) and not is_logarithmic((2.0, 10.0))
