"""Bootstrap resampling: against enumeration of all resamples, and cases worked out by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.metrics.bootstrap import bootstrap_ratios, confidence_interval


def test_resamples_are_as_frequent_as_enumeration_says():
    totals, sizes = np.array([[1.0, 5.0, 2.0]]), np.array([1.0, 2.0, 4.0])
    every = [totals[0, list(d)].sum() / sizes[list(d)].sum() for d in itertools.product(range(3), repeat=3)]
    scores = bootstrap_ratios(totals, sizes, seed=5, resamples=20_000)[:, 0]
    values, counts = np.unique(np.round(every, 9), return_counts=True)
    assert set(np.round(scores, 9)) == set(values)
    for value, count in zip(values, counts, strict=True):
        probability = count / 27
        assert abs(np.isclose(scores, value).mean() - probability) < 5 * np.sqrt(
            probability * (1 - probability) / 20_000
        )


def test_the_interval_of_a_mean_is_the_one_of_the_textbook():
    values = np.random.default_rng(3).normal(4.0, 2.0, 400)
    low, high = confidence_interval(bootstrap_ratios(values[None], np.ones(400), seed=1, resamples=4000)[:, 0])
    half_width = 1.96 * values.std() / 20
    assert high - low == pytest.approx(2 * half_width, rel=0.1)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=half_width / 5)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.5, 50)), min_size=1, max_size=30), st.floats(-2, 2))
def test_systems_are_scored_on_the_same_resamples(units, offset):
    """A system that pays so much more for every byte is so much behind in every resample."""
    totals, sizes = np.array(units).T
    scores = bootstrap_ratios(np.stack([totals, totals + offset * sizes]), sizes, seed=0, resamples=20)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], offset, atol=1e-8)


def test_the_seed_determines_the_resamples():
    totals, sizes = np.arange(50.0)[None], np.ones(50)
    first, again, other = (bootstrap_ratios(totals, sizes, seed, resamples=30) for seed in (1, 1, 2))
    assert (first == again).all() and not (first == other).all()


def test_one_text_has_no_variance():
    assert confidence_interval(bootstrap_ratios(np.array([[6.0]]), np.array([2.0]), seed=0)[:, 0]) == (3.0, 3.0)
