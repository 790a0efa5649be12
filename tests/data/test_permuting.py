"""Orders and what is asked of them: properties that hold of every draw."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.data.corrupt.permuting import Permuting, runs
from firth.data.randomness import generator
from firth.types import Batch, Cursor, Target, Tokens


def batch(rows, time, lengths=None):
    """Tokens that follow each other, as language models read them: shifted by one, padding last."""
    values = np.arange(rows * time).reshape(rows, time) + 10
    mask = np.arange(time) < (np.full((rows, 1), time) if lengths is None else np.array(lengths)[:, None])
    inputs = np.where(mask, np.roll(values, 1, 1), 0)
    return Batch({"text": Tokens(inputs, mask)}, {"text": Target(values, mask.astype(np.float32), values - 10)})


HERE = Cursor()


def permuted(given_batch, seed=1, at=HERE, **options):
    found = Permuting(schema.Permuted(**options), None)(given_batch, seed, at)
    return found.streams["text"], found.targets["text"]


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.05, 1.0), st.integers(1, 6), st.integers(0, 99))
def test_the_last_of_an_order_are_told(lengths, share, longest, seed):
    before = batch(len(lengths), max(lengths), lengths)
    text, target = permuted(before, seed, share=share, longest=longest, ordered="all")
    for row, length in enumerate(lengths):
        told, rank = target.weight[row] > 0, text.rank[row]
        assert told.sum() == max(1, np.rint(share * length))
        assert not told[length:].any()
        assert sorted(rank) == list(range(max(lengths)))
        assert set(rank[told]) == set(range(length - told.sum(), length))  # after all others, before padding
        np.testing.assert_array_equal(text.ids[row, :length], before.targets["text"].values[row, :length])
    np.testing.assert_array_equal(target.values, before.targets["text"].values)
    np.testing.assert_array_equal(target.place, before.targets["text"].place)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.05, 1.0), st.integers(0, 99))
def test_what_is_not_asked_has_no_order(lengths, share, seed):
    text, target = permuted(batch(len(lengths), max(lengths), lengths), seed, share=share)
    for row in range(len(lengths)):
        told, rank = target.weight[row] > 0, text.rank[row]
        assert not rank[~told].any()
        assert sorted(rank[told]) == list(range(1, told.sum() + 1))


def test_what_may_not_be_asked_is_not():
    """Windows that overlap ask each token once."""
    before = batch(3, 20)
    before.targets["text"].weight[:, :12] = 0
    _, target = permuted(before, share=0.5)
    assert not target.weight[:, :12].any()
    assert (target.weight.sum(1) == 4).all()


def test_orders_are_functions_of_seed_and_place():
    before = batch(4, 30)
    one, _ = permuted(before, seed=3, at=Cursor(1, 2))
    again, _ = permuted(before, seed=3, at=Cursor(1, 2))
    np.testing.assert_array_equal(one.rank, again.rank)
    for seed, at in ((4, Cursor(1, 2)), (3, Cursor(2, 2)), (3, Cursor(1, 3))):
        assert (permuted(before, seed=seed, at=at)[0].rank != one.rank).any()


def test_every_order_is_as_likely():
    """Of three tokens of which one is told: its rank is last, and the others' orders are even."""
    text, target = permuted(batch(3000, 3), share=1 / 3, ordered="all")
    codes = text.rank @ np.array([9, 3, 1])
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 420  # 500 expected, with a deviation of 20
    assert target.weight.sum(0).min() > 900


@pytest.mark.parametrize("longest", [1, 5])
def test_runs_are_of_a_length_as_often_as_its_inverse(longest):
    sizes = []
    for seed in range(150):
        told = runs(np.ones(2000, bool), 20, longest, generator(seed, "test"))
        assert told.sum() == 20
        edges = np.flatnonzero(np.diff(np.concatenate([[0], told.astype(int), [0]])))
        sizes += list(edges[1::2] - edges[::2])
    shares = np.bincount(sizes, minlength=longest + 1)[1 : longest + 1] / len(sizes)
    wanted = 1 / np.arange(1, longest + 1)
    np.testing.assert_allclose(shares, wanted / wanted.sum(), atol=0.05)  # the last of a row is cut, some meet
