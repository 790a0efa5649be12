"""The distance of words against the definition, written as a recursion."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.text.edits import Words, distances

WORD = st.text("abcé", max_size=6)


def defined(a: str, b: str) -> int:
    """Insertions, deletions, exchanges, swaps of neighbours; no stretch is edited twice."""

    @cache
    def to(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        found = min(to(i - 1, j) + 1, to(i, j - 1) + 1, to(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            found = min(found, to(i - 2, j - 2) + 1)
        return found

    return to(len(a), len(b))


@settings(max_examples=150, deadline=None)
@given(WORD, st.lists(WORD, min_size=1, max_size=8))
def test_all_words_at_once_are_each_alone(word, others):
    table = Words.of(others)
    assert distances(word, table.codes, table.lengths).tolist() == [defined(word, other) for other in others]


@settings(max_examples=100, deadline=None)
@given(WORD, st.lists(WORD, max_size=8), st.integers(0, 2))
def test_the_near_words_are_those_within_the_distance(word, others, most):
    wanted = [(n, defined(word, other)) for n, other in enumerate(others) if defined(word, other) <= most]
    assert Words.of(others).near(word, most) == wanted


@pytest.mark.parametrize(
    ("a", "b", "edits"), [("teh", "the", 1), ("ca", "abc", 3), ("kitten", "sitting", 3), ("", "x", 1)]
)
def test_known_distances(a, b, edits):
    table = Words.of([b])
    assert distances(a, table.codes, table.lengths) == np.array([edits])
