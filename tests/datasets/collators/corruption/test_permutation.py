"""Factorization orders and their targets: properties that hold of every sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.datasets.collators.corruption.permutation import Permutation, sample_spans
from firth.types import Batch, Cursor, Target, Tokens, generator


def batch(rows, time, lengths=None):
    """Consecutive tokens as inputs of a language model: shifted by one, padding last."""
    values = np.arange(rows * time).reshape(rows, time) + 10
    mask = np.arange(time) < (np.full((rows, 1), time) if lengths is None else np.array(lengths)[:, None])
    inputs = np.where(mask, np.roll(values, 1, 1), 0)
    return Batch({"text": Tokens(inputs, mask)}, {"text": Target(values, mask.astype(np.float32), values - 10)})


HERE = Cursor()


def permuted(before, seed=1, at=HERE, **options):
    after = Permutation(schema.PermutationLM(**options), None)(before, seed, at)
    return after.streams["text"], after.targets["text"]


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.05, 1.0), st.integers(1, 6), st.integers(0, 99))
def test_the_last_of_an_order_are_predicted(lengths, fraction, longest, seed):
    before = batch(len(lengths), max(lengths), lengths)
    text, target = permuted(before, seed, predict_fraction=fraction, max_span_length=longest, permute="all")
    for row, length in enumerate(lengths):
        predicted, rank = target.weight[row] > 0, text.rank[row]
        assert predicted.sum() == max(1, np.rint(fraction * length))
        assert not predicted[length:].any()
        assert sorted(rank) == list(range(max(lengths)))
        assert set(rank[predicted]) == set(range(length - predicted.sum(), length))  # after all others, before padding
        np.testing.assert_array_equal(text.ids[row, :length], before.targets["text"].values[row, :length])
    np.testing.assert_array_equal(target.values, before.targets["text"].values)
    np.testing.assert_array_equal(target.positions, before.targets["text"].positions)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.05, 1.0), st.integers(0, 99))
def test_what_is_not_predicted_has_no_order(lengths, fraction, seed):
    text, target = permuted(batch(len(lengths), max(lengths), lengths), seed, predict_fraction=fraction)
    for row in range(len(lengths)):
        predicted, rank = target.weight[row] > 0, text.rank[row]
        assert not rank[~predicted].any()
        assert sorted(rank[predicted]) == list(range(1, predicted.sum() + 1))


def test_only_candidates_are_predicted():
    """Overlapping windows predict each token once."""
    before = batch(3, 20)
    before.targets["text"].weight[:, :12] = 0
    _, target = permuted(before, predict_fraction=0.5)
    assert not target.weight[:, :12].any()
    assert (target.weight.sum(1) == 4).all()


def test_orders_are_functions_of_seed_and_cursor():
    before = batch(4, 30)
    one, _ = permuted(before, seed=3, at=Cursor(1, 2))
    again, _ = permuted(before, seed=3, at=Cursor(1, 2))
    np.testing.assert_array_equal(one.rank, again.rank)
    for seed, at in ((4, Cursor(1, 2)), (3, Cursor(2, 2)), (3, Cursor(1, 3))):
        assert (permuted(before, seed=seed, at=at)[0].rank != one.rank).any()


def test_every_order_is_as_likely():
    """Of three tokens of which one is predicted: its rank is last, and the others' orders are equally likely."""
    text, target = permuted(batch(3000, 3), predict_fraction=1 / 3, permute="all")
    codes = text.rank @ np.array([9, 3, 1])
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 420  # 500 expected, with a deviation of 20
    assert target.weight.sum(0).min() > 900


@pytest.mark.parametrize("longest", [1, 5])
def test_span_lengths_are_as_frequent_as_their_inverse(longest):
    sizes = []
    for seed in range(150):
        predicted = sample_spans(np.ones(2000, bool), 20, longest, generator(seed, "test"))
        assert predicted.sum() == 20
        edges = np.flatnonzero(np.diff(np.concatenate([[0], predicted.astype(int), [0]])))
        sizes += list(edges[1::2] - edges[::2])
    frequencies = np.bincount(sizes, minlength=longest + 1)[1 : longest + 1] / len(sizes)
    expected = 1 / np.arange(1, longest + 1)
    np.testing.assert_allclose(frequencies, expected / expected.sum(), atol=0.05)  # the last of a row is cut, some meet
