"""Alignment error rate, precision and recall by hand; the diagonal; kinds of words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from firth.metrics.alignment import agreement, diagonal, error_rate, fertility

links = some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=12)


def test_by_hand():
    found, sure, possible = [[(0, 0), (1, 1), (2, 3)]], [[(0, 0), (2, 2)]], [[(1, 1)]]
    told = agreement(found, sure, possible)
    assert told == (3, 2, 1, 2)
    assert told.precision == 2 / 3 and told.recall == 1 / 2 and told.error_rate == pytest.approx(1 - 3 / 5)


def test_without_possible_links_it_is_one_minus_f1():
    found, sure = [[(0, 0), (1, 1)], [(0, 1)]], [[(0, 0)], [(0, 1), (1, 0), (2, 2)]]
    told = agreement(found, sure)
    f1 = 2 * told.precision * told.recall / (told.precision + told.recall)
    assert error_rate(found, sure) == pytest.approx(1 - f1)


@settings(deadline=None, max_examples=50)
@given(some.lists(some.tuples(links, links, links), min_size=1, max_size=5))
def test_bounds_and_what_is_right_scores_best(rows):
    found, sure, possible = zip(*rows, strict=True)
    value = error_rate(found, sure, possible)
    assert value is None or 0 <= value <= 1
    assert error_rate(sure, sure, possible) in (0.0, None)
    assert error_rate(found, sure, possible) == error_rate(
        found, sure, [[*a, *b] for a, b in zip(sure, possible, strict=True)]
    )


def test_no_links_and_unequal_numbers():
    assert error_rate([[]], [[]]) is None and agreement([[]], [[]]).precision is None
    assert error_rate([[]], [[(0, 0)]]) == 1.0
    with pytest.raises(ValueError):
        error_rate([[]], [[], []])


def test_the_diagonal():
    assert diagonal(3, 3) == [(0, 0), (1, 1), (2, 2)]
    assert diagonal(2, 4) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert diagonal(4, 2) == [(1, 0), (3, 1)] and diagonal(0, 2) == [] and diagonal(2, 0) == []
    for left in range(1, 9):
        for right in range(1, 9):  # the left word in whose stretch the middle of the right one falls
            middles = [((j + 0.5) / right * left, j) for j in range(right)]
            assert all(i <= middle <= i + 1 for (i, _), (middle, _) in zip(diagonal(left, right), middles, strict=True))


def test_kinds_of_words():
    told = fertility([[(0, 0), (2, 1), (2, 2), (3, 3), (3, 4), (3, 5), (3, 6)], [(0, 1)]], [(4, 8), (1, 2)])
    assert told.left == (1 / 5, 2 / 5, 1 / 5, 1 / 5)  # word 1; 0 and the other pair's; 2; 3
    assert told.spurious == 2 / 10 and told.one_to_one == 2 / 8
    assert fertility([[(0, 0), (0, 0)]], [(1, 1)]).one_to_one == 1.0  # told twice, one link
    assert fertility([], []) is None and fertility([[]], [(0, 3)]) is None
    assert fertility([[]], [(2, 3)]).one_to_one == 0.0
