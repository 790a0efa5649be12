"""Error rates against a brute-force edit distance."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.metrics.word_error_rate import ERROR_RATES, count_error_rate, edit_distances


def brute_force(left, right):
    """The fewest insertions, deletions and substitutions, by trying all."""

    @cache
    def fewest(i, j):
        if i == len(left) or j == len(right):
            return len(left) - i + len(right) - j
        same = fewest(i + 1, j + 1) + (left[i] != right[j])
        return min(same, fewest(i + 1, j) + 1, fewest(i, j + 1) + 1)

    return fewest(0, 0)


TEXTS = st.text(alphabet="abc", max_size=7)


@given(TEXTS, st.lists(TEXTS, max_size=5))
def test_edit_distances_are_those_of_brute_force(reference, hypotheses):
    assert edit_distances(reference, hypotheses).tolist() == [brute_force(reference, each) for each in hypotheses]


@given(TEXTS, TEXTS)
def test_a_distance_is_symmetric_and_zero_only_of_equals(left, right):
    (there,), (back,) = edit_distances(left, [right]), edit_distances(right, [left])
    assert there == back and (there == 0) == (left == right)


def test_words_sentences_and_characters():
    reference, hypotheses = "the cat  sat", ["the cat sat", "a cat sat down", ""]
    words, sentences, characters = (ERROR_RATES[name](reference, hypotheses) for name in ERROR_RATES)
    assert words.errors.tolist() == [0, 2, 3] and words.size == 3
    assert sentences.errors.tolist() == [0, 1, 1] and sentences.size == 1
    assert characters.errors.tolist() == [0, brute_force("the cat sat", "a cat sat down"), 11]
    assert characters.size == 11


def test_the_rate_of_a_corpus_is_that_of_all_its_words():
    statistics = count_error_rate("word_error_rate", ["a b", "x y z"], ["a c", "x"])
    assert statistics.score().value == pytest.approx((1 + 2) / 3)  # not the mean of 1/2 and 2
    assert np.array_equal(statistics.counts, [[1, 2], [2, 1]])
