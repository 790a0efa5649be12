"""Correlation, rankings and clusters against SciPy, scikit-learn and counting by hand."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from firth.metrics.clustering import purity
from firth.metrics.correlation import pearson, spearman
from firth.metrics.ranking import average_precision, mean, ndcg, precision_at_k, recall_at_k
from sklearn import metrics as oracle

TIED = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=2, max_size=40)
GRADES = st.lists(st.integers(0, 4), min_size=2, max_size=15)


@settings(max_examples=30, deadline=None)
@given(TIED)
def test_spearman_is_scipys_also_with_ties(pairs):
    left, right = zip(*pairs, strict=True)
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert spearman(left, right) is None
    else:
        assert spearman(left, right) == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)
        assert pearson(left, right) == pytest.approx(stats.pearsonr(left, right).statistic, abs=1e-9)


def test_spearman_knows_order_only_and_refuses_what_it_cannot_rank():
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1e9]) == 1.0
    assert spearman([1, 2, 3], [3, 2, 1]) == -1.0
    assert spearman([1.0], [2.0]) is None
    assert pearson([1e200, 2e200, 4e200], [1, 2, 4]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="not a number"):
        spearman([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="2 values against 3"):
        spearman([1, 2], [1, 2, 3])


@settings(max_examples=30, deadline=None)
@given(GRADES, st.randoms(use_true_random=False), st.integers(1, 20))
def test_ndcg_is_scikit_learns(grades, random, k):
    order = list(range(len(grades)))
    random.shuffle(order)
    scores = [-order.index(item) for item in range(len(grades))]
    value = ndcg(order, dict(enumerate(grades)), k)
    if not any(grades):
        assert value is None
    else:
        assert value == pytest.approx(oracle.ndcg_score([grades], [scores], k=k), abs=1e-12)
        exponential = ndcg(order, dict(enumerate(grades)), k, gain="exponential")
        assert exponential == pytest.approx(oracle.ndcg_score([[2**g - 1 for g in grades]], [scores], k=k), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(GRADES, st.randoms(use_true_random=False))
def test_average_precision_is_scikit_learns(grades, random):
    order = list(range(len(grades)))
    random.shuffle(order)
    relevant = {item for item, grade in enumerate(grades) if grade > 1}
    scores = [-order.index(item) for item in range(len(grades))]
    value = average_precision(order, relevant)
    if relevant:
        gold = [item in relevant for item in range(len(grades))]
        assert value == pytest.approx(oracle.average_precision_score(gold, scores), abs=1e-12)
    else:
        assert value is None


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 12)), st.permutations(range(10)), st.integers(1, 15))
def test_precision_and_recall_count(relevant, ranked, k):
    hits = len(relevant & set(ranked[:k]))
    if relevant:
        assert precision_at_k(ranked, relevant, k) == hits / k
        assert recall_at_k(ranked, relevant, k) == hits / len(relevant)
    else:
        assert precision_at_k(ranked, relevant, k) is recall_at_k(ranked, relevant, k) is None


def test_what_is_not_in_the_list_counts_against_it():
    assert average_precision(["a"], {"a", "b"}) == 0.5
    assert ndcg(["a"], {"a": 1, "b": 1}) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert precision_at_k(["a"], {"a"}, 10) == 0.1
    assert ndcg(["bad", "a"], {"a": 1, "bad": -1}) == pytest.approx(1 / math.log2(3))
    with pytest.raises(ValueError, match="k = 0"):
        ndcg(["a"], {"a": 1}, 0)
    assert mean([1.0, None, 0.0]) == 0.5
    assert mean([None]) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_purity_by_the_matrix_of_counts(pairs):
    clusters, classes = zip(*pairs, strict=True)
    table = oracle.cluster.contingency_matrix(classes, clusters)
    assert purity(clusters, classes) == pytest.approx(np.max(table, axis=0).sum() / len(pairs))
    assert purity(range(len(pairs)), classes) == 1.0
    assert purity([0] * len(pairs), classes) == max(Counter(classes).values()) / len(pairs)


def test_purity_of_nothing_and_of_unequal_lists():
    assert purity([], []) is None
    with pytest.raises(ValueError, match="1 clusters against 2"):
        purity([1], [1, 2])
