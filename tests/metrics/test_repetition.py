"""Repetition on texts that a reader can count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.metrics.repetition import distinct, repeated, repetition


@pytest.mark.parametrize(
    ("tokens", "order", "share"),
    [
        ([1, 2, 1, 2, 1], 2, 1 - 2 / 4),  # 12 21 12 21
        ([1, 2, 3, 4], 2, 0.0),
        ([7] * 10, 3, 1 - 1 / 8),
        ([1, 2], 2, None),  # a single pair
        ([], 4, None),
    ],
)
def test_the_share_of_runs_that_came_before(tokens, order, share):
    assert repeated(tokens, order) == (share if share is None else pytest.approx(share))


def test_all_orders_are_told():
    assert repetition([1, 2, 1, 2, 1, 2]) == {
        "rep_2": pytest.approx(3 / 5),
        "rep_3": 0.5,
        "rep_4": pytest.approx(1 / 3),
    }


def test_texts_that_share_all_are_less_distinct_than_each():
    assert distinct([[1, 2, 3]], 2) == 1.0
    assert distinct([[1, 2, 3], [1, 2, 3]], 2) == 0.5
    assert distinct([[1], []], 2) is None


@given(st.lists(st.integers(0, 3), min_size=3, max_size=30), st.integers(1, 2))
def test_one_text_is_as_distinct_as_it_does_not_repeat(tokens, order):
    assert distinct([tokens], order) == pytest.approx(1 - repeated(tokens, order))
