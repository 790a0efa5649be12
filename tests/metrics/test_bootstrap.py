"""Drawing texts anew: against all draws that there are, and cases that can be worked out by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.metrics.bootstrap import interval, resampled


def test_draws_come_as_often_as_counting_all_of_them_says():
    totals, sizes = np.array([[1.0, 5.0, 2.0]]), np.array([1.0, 2.0, 4.0])
    every = [totals[0, list(d)].sum() / sizes[list(d)].sum() for d in itertools.product(range(3), repeat=3)]
    found = resampled(totals, sizes, seed=5, draws=20_000)[:, 0]
    values, counts = np.unique(np.round(every, 9), return_counts=True)
    assert set(np.round(found, 9)) == set(values)
    for value, count in zip(values, counts, strict=True):
        share = count / 27
        assert abs(np.isclose(found, value).mean() - share) < 5 * np.sqrt(share * (1 - share) / 20_000)


def test_the_interval_of_a_mean_is_the_one_of_the_textbook():
    values = np.random.default_rng(3).normal(4.0, 2.0, 400)
    low, high = interval(resampled(values[None], np.ones(400), seed=1, draws=4000)[:, 0])
    wanted = 1.96 * values.std() / 20
    assert high - low == pytest.approx(2 * wanted, rel=0.1)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=wanted / 5)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.5, 50)), min_size=1, max_size=30), st.floats(-2, 2))
def test_systems_are_drawn_together(units, offset):
    """A system that pays so much more for every byte is so much behind in every draw."""
    totals, sizes = np.array(units).T
    drawn = resampled(np.stack([totals, totals + offset * sizes]), sizes, seed=0, draws=20)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], offset, atol=1e-8)


def test_the_same_seed_draws_the_same_and_another_does_not():
    totals, sizes = np.arange(50.0)[None], np.ones(50)
    first, again, other = (resampled(totals, sizes, seed, draws=30) for seed in (1, 1, 2))
    assert (first == again).all() and not (first == other).all()


def test_one_text_leaves_nothing_to_chance():
    assert interval(resampled(np.array([[6.0]]), np.array([2.0]), seed=0)[:, 0]) == (3.0, 3.0)
