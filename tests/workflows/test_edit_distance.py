"""Damerau–Levenshtein distance against its definition, written as a recursion."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.workflows.edit_distance import WordMatrix, edit_distances

WORD = st.text("abcé", max_size=6)


def reference_distance(a: str, b: str) -> int:
    """Insertions, deletions, substitutions, transpositions; no substring is edited twice."""

    @cache
    def prefix_distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        distance = min(
            prefix_distance(i - 1, j) + 1,
            prefix_distance(i, j - 1) + 1,
            prefix_distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            distance = min(distance, prefix_distance(i - 2, j - 2) + 1)
        return distance

    return prefix_distance(len(a), len(b))


@settings(max_examples=150, deadline=None)
@given(WORD, st.lists(WORD, min_size=1, max_size=8))
def test_batched_distances_are_those_of_the_definition(word, others):
    table = WordMatrix.from_words(others)
    assert edit_distances(word, table.codes, table.lengths).tolist() == [
        reference_distance(word, other) for other in others
    ]


@settings(max_examples=100, deadline=None)
@given(WORD, st.lists(WORD, max_size=8), st.integers(0, 2))
def test_within_returns_words_up_to_the_distance(word, others, max_distance):
    expected = [
        (n, reference_distance(word, other))
        for n, other in enumerate(others)
        if reference_distance(word, other) <= max_distance
    ]
    assert WordMatrix.from_words(others).within(word, max_distance) == expected


@pytest.mark.parametrize(
    ("a", "b", "edits"), [("teh", "the", 1), ("ca", "abc", 3), ("kitten", "sitting", 3), ("", "x", 1)]
)
def test_known_distances(a, b, edits):
    table = WordMatrix.from_words([b])
    assert edit_distances(a, table.codes, table.lengths) == np.array([edits])
