"""Repetition on texts that a reader can count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.metrics.repetition import distinct_n, repetition_rates, seq_rep_n


@pytest.mark.parametrize(
    ("tokens", "n", "rate"),
    [
        ([1, 2, 1, 2, 1], 2, 1 - 2 / 4),  # 12 21 12 21
        ([1, 2, 3, 4], 2, 0.0),
        ([7] * 10, 3, 1 - 1 / 8),
        ([1, 2], 2, None),  # a single pair
        ([], 4, None),
    ],
)
def test_the_rate_of_repeated_ngrams(tokens, n, rate):
    assert seq_rep_n(tokens, n) == (rate if rate is None else pytest.approx(rate))


def test_all_orders_are_reported():
    assert repetition_rates([1, 2, 1, 2, 1, 2]) == {
        "rep_2": pytest.approx(3 / 5),
        "rep_3": 0.5,
        "rep_4": pytest.approx(1 / 3),
    }


def test_equal_texts_are_less_distinct_together():
    assert distinct_n([[1, 2, 3]], 2) == 1.0
    assert distinct_n([[1, 2, 3], [1, 2, 3]], 2) == 0.5
    assert distinct_n([[1], []], 2) is None


@given(st.lists(st.integers(0, 3), min_size=3, max_size=30), st.integers(1, 2))
def test_one_text_is_as_distinct_as_it_does_not_repeat(tokens, n):
    assert distinct_n([tokens], n) == pytest.approx(1 - seq_rep_n(tokens, n))
