"""Rows whose beginning is seen both ways: what is predicted is never seen, and nothing after it is marked."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.data.corrupt.prefixed import Prefixed, context_first
from firth.types import Batch, Cursor, Target, Tokens


def rows(sizes, weight=None):
    width = max(sizes)
    ids = np.arange(100, 100 + len(sizes) * width).reshape(len(sizes), width)
    mask = np.arange(width) < np.array(sizes)[:, None]
    weight = mask if weight is None else weight
    return Batch({"text": Tokens(ids, mask)}, {"text": Target(ids + 1, weight.astype(np.float32))})


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), index=st.integers(0, 50))
def test_what_is_predicted_is_not_in_the_part_that_all_see(sizes, index):
    before = rows(sizes)
    after = Prefixed(schema.Prefix(), None)(before, 1, Cursor(0, index))
    text, target = after.streams["text"], after.targets["text"]
    for row, size in enumerate(sizes):
        seen, told = np.flatnonzero(text.prefix[row]), np.flatnonzero(target.weight[row])
        assert seen.tolist() == list(range(len(seen))) and len(seen) >= 1
        # the last token that all see predicts the first of the rest
        assert told.tolist() == list(range(len(seen) - 1, size))
        assert not set(target.values[row][told]) & set(text.ids[row][seen])


def test_every_place_is_cut_as_often():
    change = Prefixed(schema.Prefix(), None)
    cuts = [change(rows([5]), 1, Cursor(0, n)).streams["text"].prefix.sum() for n in range(1000)]
    assert np.abs(np.unique(cuts, return_counts=True)[1] - 200).max() < 60 and set(cuts) == {1, 2, 3, 4, 5}


def test_where_texts_are_scored_each_token_that_was_predicted_still_is():
    weight = np.array([[0, 0, 1, 1], [1, 1, 1, 1]], bool)
    found = context_first(rows([4, 4], weight))
    assert (found.targets["text"].weight == weight).all()
    assert found.streams["text"].prefix.tolist() == [[True, True, True, False], [True, False, False, False]]
