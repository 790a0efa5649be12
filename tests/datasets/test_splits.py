"""Splits: pure, exact up to rounding, never without a wanted document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.datasets.text_dataset import BLOCK, assign_splits, split_counts, split_of
from firth.errors import FirthError

FRACTIONS = st.floats(0.0, 0.49)
TOTALS = st.integers(0, 5 * BLOCK)
SEEDS = st.integers(0, 2**64 - 1)


@given(TOTALS, FRACTIONS, FRACTIONS, SEEDS, st.data())
def test_any_stretch_equals_that_part_of_the_whole(total, valid, test, seed, data):
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    whole = assign_splits(0, total, total, valid, test, seed)
    part = assign_splits(start, stop, total, valid, test, seed)
    assert whole.dtype == part.dtype == np.uint8 and len(whole) == total
    assert np.array_equal(part, whole[start:stop])
    if start < stop:
        assert split_of(start, total, valid, test, seed) == whole[start]


@given(TOTALS, FRACTIONS, FRACTIONS, SEEDS)
def test_fractions_are_exact_and_nothing_wanted_is_empty(total, valid, test, seed):
    result = np.bincount(assign_splits(0, total, total, valid, test, seed), minlength=3)
    assert tuple(result[1:]) == split_counts(total, valid, test)
    assert abs(result[1] - valid * total) <= 2 and abs(result[2] - test * total) <= 2
    if total:
        assert result[0] >= 1
    if total >= 3:
        assert (result[1] >= 1) == (valid > 0) and (result[2] >= 1) == (test > 0)


@given(st.integers(1, 20), FRACTIONS, FRACTIONS, SEEDS)
def test_every_block_has_its_share(blocks, valid, test, seed):
    total = blocks * BLOCK
    rows = assign_splits(0, total, total, valid, test, seed).reshape(blocks, BLOCK)
    wanted = split_counts(total, valid, test)
    for split in (1, 2):
        each = (rows == split).sum(1)
        assert np.all(np.abs(each - wanted[split - 1] / blocks) <= 2)


def test_the_split_of_a_document_is_a_fair_draw_that_depends_on_the_seed():
    sampled = np.array([assign_splits(0, 50, 50, 0.2, 0.1, seed) for seed in range(2000)])
    valid, test = (sampled == 1).mean(0), (sampled == 2).mean(0)
    assert np.all(np.abs(valid - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 2000))
    assert np.all(np.abs(test - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 2000))


def test_huge_seeds_differ():
    assert len({assign_splits(0, 500, 500, 0.3, 0.3, 2**64 - n).tobytes() for n in range(1, 6)}) == 5


def test_blocks_are_shuffled_differently():
    rows = assign_splits(0, 4 * BLOCK, 4 * BLOCK, 0.1, 0.1, 7).reshape(4, BLOCK)
    assert len({row.tobytes() for row in rows}) == 4


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.9, 0.2), (-0.1, 0.1), (float("nan"), 0.1)])
def test_fractions_that_leave_nothing_are_refused(fractions):
    with pytest.raises(
        FirthError, match=r"^data.valid_fraction, data.test_fraction: .*nothing to train on; make their sum"
    ):
        assign_splits(0, 10, 10, *fractions, 1)


def test_documents_beyond_the_last_are_refused():
    with pytest.raises(FirthError, match="documents 5 to 11 are not within the 10 there are"):
        assign_splits(5, 11, 10, 0.1, 0.1, 1)
