"""Minimum error rate training against exhaustive searches."""

from itertools import pairwise

import numpy as np
import pytest

from firth.linear.minimum_error_rate import (
    CandidateList,
    best_candidates,
    count_errors,
    search_line,
    train_weights,
    upper_envelope,
)


def random_lists(seed, features=2, count=12, integer=False):
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        size = int(rng.integers(1, 8))
        values = rng.integers(-3, 4, (size, features)) if integer else rng.normal(size=(size, features))
        lists.append(CandidateList(values.astype(float), rng.integers(0, 5, size)))
    return lists


@pytest.mark.parametrize("seed", range(20))
def test_the_envelope_has_the_highest_line_everywhere(seed):
    rng = np.random.default_rng(seed)
    intercepts, slopes = rng.integers(-4, 5, 9).astype(float), rng.integers(-3, 4, 9).astype(float)
    lines, starts = upper_envelope(intercepts, slopes)
    assert starts[0] == -np.inf and starts == sorted(set(starts))
    for at in rng.uniform(-10, 10, 200):
        line = lines[int(np.searchsorted(starts, at, "right")) - 1]
        values = intercepts + at * slopes
        assert values[line] == pytest.approx(values.max())
        assert line == int(np.flatnonzero((intercepts == intercepts[line]) & (slopes == slopes[line]))[0])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("integer", [False, True])
def test_a_line_search_is_exact(seed, integer):
    """Against the errors between all points where any two candidates of a list are equal."""
    lists = random_lists(seed, integer=integer)
    weights, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    crossings = {-1e6, 1e6}
    for each in lists:
        a, b = each.features.T
        for i in range(len(a)):
            for j in range(i):
                if b[i] != b[j]:
                    crossings.add(float((a[i] - a[j]) / (b[j] - b[i])))
    ordered = sorted(crossings)
    middles = [(left + right) / 2 for left, right in pairwise(ordered) if right - left > 1e-9]
    fewest = min(count_errors(lists, weights + step * direction) for step in middles)
    found = search_line(lists, weights, direction)
    assert found.errors == fewest == count_errors(lists, weights + found.step * direction)
    assert found.interval[0] < found.step < found.interval[1]


def test_the_widest_interval_with_the_fewest_errors():
    """Best candidates change at 1, 2 and 10: errors 3, 0, 1, 2."""
    rows = np.array([[0.0, 0.0], [-1.0, 1.0], [-3.0, 2.0], [-13.0, 3.0]])
    axes = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    found = search_line([CandidateList(rows, np.array([3, 0, 1, 2]))], *axes)
    assert found.errors == 0 and found.interval == (1, 2) and 1 < found.step < 2
    merged = search_line([CandidateList(rows, np.array([3, 0, 0, 2]))], *axes)
    assert merged.interval == (1, 10) and 1 < merged.step < 10
    outer = search_line([CandidateList(rows, np.array([3, 1, 1, 0]))], *axes)
    assert outer.interval == (10, np.inf) and 10 < outer.step < np.inf


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", [1e-3, 7.0])
def test_the_unit_of_a_score_does_not_matter(seed, unit):
    lists = random_lists(seed)
    scaled = [CandidateList(each.features * [1.0, unit], each.errors) for each in lists]
    axes = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert search_line(scaled, *axes).step * unit == pytest.approx(search_line(lists, *axes).step)


def test_lists_without_a_choice_change_nothing():
    found = search_line([CandidateList(np.ones((3, 2)), np.array([2, 0, 0]))], np.ones(2), np.array([0.0, 1.0]))
    assert found.step == 0 and found.errors == 2  # of equal candidates the first is best


def planted(seed, truth):
    """Lists whose best candidate under the true weights is the one without errors."""
    rng, lists = np.random.default_rng(seed), []
    for _ in range(60):
        features = rng.normal(size=(10, len(truth)))
        errors = np.full(10, 3)
        errors[int((features @ truth).argmax())] = 0
        lists.append(CandidateList(features, errors))
    return lists


@pytest.mark.parametrize("truth", [(1.0, 0.7), (1.0, -2.0), (1.0, 0.5, 1.5), (1.0, -0.3, 2.0, 0.4)])
def test_weights_without_any_error_are_found(truth):
    lists = planted(1, np.array(truth))
    weights, errors = train_weights(lists, np.ones(len(truth)), range(1, len(truth)))
    assert errors == 0 == count_errors(lists, weights) and weights[0] == 1
    assert np.abs(weights - truth).max() < 0.3


def test_weights_that_are_not_free_stay():
    lists = random_lists(3, features=4)
    weights, errors = train_weights(lists, np.array([1.0, 0.5, 0.25, 2.0]), [1, 3])
    assert weights[0] == 1 and weights[2] == 0.25
    assert errors <= count_errors(lists, np.array([1.0, 0.5, 0.25, 2.0]))
    unchanged, same = train_weights(lists, np.array([1.0, 2.0, 3.0, 4.0]), [])
    assert unchanged.tolist() == [1, 2, 3, 4] and same == count_errors(lists, unchanged)


def test_of_equal_candidates_the_first_is_best():
    assert best_candidates([CandidateList(np.ones((3, 1)), np.zeros(3, int))], np.ones(1)) == [0]
