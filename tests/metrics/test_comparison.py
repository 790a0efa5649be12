"""Comparison of systems, exact match, repetition, and scores by length."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.metrics.bleu import MetricOptions, bleu
from firth.metrics.by_length import by_length
from firth.metrics.comparison import METRICS, compare, count_exact_match, count_repetition
from firth.metrics.corpus_metric import CorpusStatistics, percentage

RIGHT = ["a b c d e f", "g h i j", "k l m n o p q", "r s t u v"] * 3
GOOD = ["a b c d e f", "g h i j", "k l m n o p x", "r s t u v"] * 3
BAD = ["a b x d e f", "g h x j x x", "k l m x o p q", "r r r r r"] * 3


def test_all_metrics_side_by_side():
    comparison = compare([("good", GOOD), ("bad", BAD)], [RIGHT], list(METRICS), resamples=100)
    names = ["BLEU", "chrF2", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "exact match"]
    good, bad = comparison.systems
    assert [each.score.name for each in good.scores] == names == [each.metric for each in bad.significance]
    assert good.significance == () and all(each.paired_bootstrap.difference < 0 for each in bad.significance)
    for ours, theirs, test in zip(good.scores, bad.scores, bad.significance, strict=True):
        assert theirs.score.value - ours.score.value == pytest.approx(test.paired_bootstrap.difference)
        assert ours.interval.low <= ours.score.value <= ours.interval.high
        assert ours.score.signature == theirs.score.signature
    assert [each.name for each in bad.diagnostics] == ["length", "repetition"]
    assert bad.diagnostics[0].value == pytest.approx((22 + 2) / 22) and comparison.reference.value == 0.0
    assert json.loads(json.dumps(comparison.to_dict()))["systems"][1]["significance"][0]["metric"] == "BLEU"


def test_an_unknown_metric_offers_the_nearest():
    with pytest.raises(FirthError, match=r"unknown metric 'blue'; did you mean 'bleu'\?"):
        compare([("a", GOOD)], [RIGHT], ["blue"])


def test_exact_match_is_with_any_reference_and_white_space_aside():
    texts, first, second = ["a  b ", "c", "D", ""], ["a b", "x", "d", "z"], ["y", "c", "w", ""]
    assert count_exact_match(texts, [first, second]).score().value == 75.0
    assert count_exact_match(texts, [first, second], MetricOptions(lowercase=True)).score().value == 100.0


def test_repetition_counts_each_text_by_itself():
    statistics = count_repetition(["the the the the", "a b", "a b", ""])  # pairs: 3 of which 2 again, 1, 1
    assert statistics.score().value == pytest.approx(100 * 2 / 5)
    assert count_repetition(["one"]).score().value is None


# --- by length ---


def ones(count):
    return CorpusStatistics("constant", np.ones((count, 2)), percentage, "constant")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=80), st.integers(1, 6))
def test_every_text_is_in_one_bin_and_no_length_in_two(lengths, bins):
    result = by_length(lengths, [ones(len(lengths))], bins=bins)
    assert sum(each.texts for each in result) == len(lengths) and 1 <= len(result) <= bins
    for each in result:
        assert each.texts == sum(each.low <= length <= each.high for length in lengths) and each.scores == (100.0,)
    assert all(one.high < two.low for one, two in itertools.pairwise(result))


def test_bins_without_edges_are_about_as_full():
    result = by_length(list(range(100)), [ones(100)], bins=4)
    assert [each.texts for each in result] == [25, 25, 25, 25]


def test_edges_are_the_last_lengths_and_empty_bins_are_left_out():
    bins = by_length([1, 10, 11, 31, 40], [ones(5)], edges=[30, 10, 20])
    assert [(each.low, each.high, each.texts) for each in bins] == [(1, 10, 2), (11, 11, 1), (31, 40, 2)]


def test_a_bin_scores_what_its_texts_score():
    sources = [text + " ." * (number % 2) * 9 for number, text in enumerate(RIGHT)]
    bins = compare(
        [("good", GOOD), ("bad", BAD)], [RIGHT], ["bleu"], sources=sources, edges=[8], resamples=100
    ).by_length
    short = [number for number in range(12) if number % 2 == 0]
    assert [each.texts for each in bins] == [6, 6]
    for system, texts in enumerate((GOOD, BAD)):
        expected = bleu([texts[n] for n in short], [[RIGHT[n] for n in short]]).value
        assert bins[0].scores[system] == pytest.approx(expected)
