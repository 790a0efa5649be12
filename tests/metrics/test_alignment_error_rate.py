"""Alignment error rate, precision and recall by hand; the diagonal baseline; fertility."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from firth.metrics.alignment_error_rate import alignment_error_rate, count_links, diagonal_alignment, fertility

links = some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=12)


def test_by_hand():
    predicted, sure, possible = [[(0, 0), (1, 1), (2, 3)]], [[(0, 0), (2, 2)]], [[(1, 1)]]
    counts = count_links(predicted, sure, possible)
    assert counts == (3, 2, 1, 2)
    assert counts.precision == 2 / 3 and counts.recall == 1 / 2 and counts.error_rate == pytest.approx(1 - 3 / 5)


def test_without_possible_links_it_is_one_minus_f1():
    predicted, sure = [[(0, 0), (1, 1)], [(0, 1)]], [[(0, 0)], [(0, 1), (1, 0), (2, 2)]]
    counts = count_links(predicted, sure)
    f1 = 2 * counts.precision * counts.recall / (counts.precision + counts.recall)
    assert alignment_error_rate(predicted, sure) == pytest.approx(1 - f1)


@settings(deadline=None, max_examples=50)
@given(some.lists(some.tuples(links, links, links), min_size=1, max_size=5))
def test_bounds_and_gold_links_score_best(rows):
    predicted, sure, possible = zip(*rows, strict=True)
    value = alignment_error_rate(predicted, sure, possible)
    assert value is None or 0 <= value <= 1
    assert alignment_error_rate(sure, sure, possible) in (0.0, None)
    assert alignment_error_rate(predicted, sure, possible) == alignment_error_rate(
        predicted, sure, [[*a, *b] for a, b in zip(sure, possible, strict=True)]
    )


def test_no_links_and_unequal_numbers():
    assert alignment_error_rate([[]], [[]]) is None and count_links([[]], [[]]).precision is None
    assert alignment_error_rate([[]], [[(0, 0)]]) == 1.0
    with pytest.raises(ValueError):
        alignment_error_rate([[]], [[], []])


def test_the_diagonal():
    assert diagonal_alignment(3, 3) == [(0, 0), (1, 1), (2, 2)]
    assert diagonal_alignment(2, 4) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert (
        diagonal_alignment(4, 2) == [(1, 0), (3, 1)]
        and diagonal_alignment(0, 2) == []
        and diagonal_alignment(2, 0) == []
    )
    for left in range(1, 9):
        for right in range(1, 9):  # the source word in whose interval the middle of the target word falls
            middles = [((j + 0.5) / right * left, j) for j in range(right)]
            assert all(
                i <= middle <= i + 1
                for (i, _), (middle, _) in zip(diagonal_alignment(left, right), middles, strict=True)
            )


def test_fertility():
    result = fertility([[(0, 0), (2, 1), (2, 2), (3, 3), (3, 4), (3, 5), (3, 6)], [(0, 1)]], [(4, 8), (1, 2)])
    assert result.source == (1 / 5, 2 / 5, 1 / 5, 1 / 5)  # word 1; 0 and the other pair's; 2; 3
    assert result.spurious == 2 / 10 and result.one_to_one == 2 / 8
    assert fertility([[(0, 0), (0, 0)]], [(1, 1)]).one_to_one == 1.0  # result twice, one link
    assert fertility([], []) is None and fertility([[]], [(0, 3)]) is None
    assert fertility([[]], [(2, 3)]).one_to_one == 0.0
