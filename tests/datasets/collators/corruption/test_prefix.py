"""Prefix LM: predicted tokens are never in the prefix, and the prefix is the beginning of the row."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.datasets.collators.corruption.prefix import PrefixSplit, context_as_prefix
from firth.types import Batch, Cursor, Target, Tokens


def rows(sizes, weight=None):
    width = max(sizes)
    ids = np.arange(100, 100 + len(sizes) * width).reshape(len(sizes), width)
    mask = np.arange(width) < np.array(sizes)[:, None]
    weight = mask if weight is None else weight
    return Batch({"text": Tokens(ids, mask)}, {"text": Target(ids + 1, weight.astype(np.float32))})


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), index=st.integers(0, 50))
def test_predicted_tokens_are_not_in_the_prefix(sizes, index):
    before = rows(sizes)
    after = PrefixSplit(schema.PrefixLM(), None)(before, 1, Cursor(0, index))
    text, target = after.streams["text"], after.targets["text"]
    for row, size in enumerate(sizes):
        prefix, predicted = np.flatnonzero(text.prefix[row]), np.flatnonzero(target.weight[row])
        assert prefix.tolist() == list(range(len(prefix))) and len(prefix) >= 1
        # the last token of the prefix predicts the first of the rest
        assert predicted.tolist() == list(range(len(prefix) - 1, size))
        assert not set(target.values[row][predicted]) & set(text.ids[row][prefix])


def test_every_prefix_length_is_as_likely():
    split = PrefixSplit(schema.PrefixLM(), None)
    cuts = [split(rows([5]), 1, Cursor(0, n)).streams["text"].prefix.sum() for n in range(1000)]
    assert np.abs(np.unique(cuts, return_counts=True)[1] - 200).max() < 60 and set(cuts) == {1, 2, 3, 4, 5}


def test_in_evaluation_each_predicted_token_still_is():
    weight = np.array([[0, 0, 1, 1], [1, 1, 1, 1]], bool)
    batch = context_as_prefix(rows([4, 4], weight))
    assert (batch.targets["text"].weight == weight).all()
    assert batch.streams["text"].prefix.tolist() == [[True, True, True, False], [True, False, False, False]]
