"""Classification metrics against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.metrics.bootstrap import approximate_randomisation
from firth.metrics.classification import (
    accuracy,
    confusion_matrix,
    label_ranking_average_precision,
    macro_f1,
    matthews_correlation,
    precision,
    recall,
    subset_accuracy,
)
from firth.metrics.label_counts import count_labels

LABELS = ["a", "b", "c", "d"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=20))
def test_one_label_each(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    sets = [[label] for label in gold], [[label] for label in predicted]
    assert precision(*sets) == recall(*sets) == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert macro_f1(*sets) == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sets(st.sampled_from(LABELS)), st.sets(st.sampled_from(LABELS))), min_size=1, max_size=9))
def test_several_labels_each(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    labels_seen = sorted(set().union(*(a | b for a, b in pairs)))
    if len(labels_seen) < 2:
        return
    gold, predicted = (
        [[label in labels for label in labels_seen] for labels in side] for side in zip(*pairs, strict=True)
    )
    sets = [a for a, _ in pairs], [b for _, b in pairs]
    more = {"average": "micro", "zero_division": 0.0}
    assert (precision(*sets) or 0.0) == pytest.approx(metrics.precision_score(gold, predicted, **more))
    assert (recall(*sets) or 0.0) == pytest.approx(metrics.recall_score(gold, predicted, **more))
    more["average"] = "macro"
    assert macro_f1(*sets) == pytest.approx(metrics.f1_score(gold, predicted, **more))


def test_nothing_to_judge():
    assert precision([["a"]], [[]]) is None and recall([[]], [["a"]]) is None and macro_f1([[]], [[]]) is None
    with pytest.raises(ValueError):
        precision([["a"]], [])


PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=20)


@settings(max_examples=25)
@given(PAIRS)
def test_confusion_matrix_and_matthews_correlation_are_scikit_learns(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    matrix = confusion_matrix(gold, predicted, LABELS)
    assert (matrix.counts == metrics.confusion_matrix(gold, predicted, labels=LABELS)).all()
    assert sum(count for *_, count in matrix.confusions()) == sum(a != b for a, b in pairs)
    correlation = matthews_correlation(gold, predicted).score().value
    assert (correlation or 0.0) == pytest.approx(metrics.matthews_corrcoef(gold, predicted))
    assert accuracy(gold, predicted).score().value == pytest.approx(metrics.accuracy_score(gold, predicted))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sets(st.sampled_from(LABELS)), st.sets(st.sampled_from(LABELS))), min_size=1, max_size=9))
def test_tables_by_label_are_scikit_learns(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    counts = count_labels(*([pair[side] for pair in pairs] for side in (0, 1)))
    if len(counts.labels) < 2:
        return
    arrays = [[[label in pair[side] for label in counts.labels] for pair in pairs] for side in (0, 1)]
    expected = metrics.classification_report(
        *arrays, target_names=counts.labels, output_dict=True, zero_division=0.0
    )
    for row in counts.table():
        theirs = expected[row["label"].replace("average", "avg")]
        names = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
        assert {name: row[name] or 0.0 for name in names} == pytest.approx({k: theirs[v] for k, v in names.items()})
    exact = subset_accuracy(*([pair[side] for pair in pairs] for side in (0, 1))).score().value
    assert exact == pytest.approx(metrics.accuracy_score(*arrays))
    for average in ("micro", "macro", "weighted"):
        statistics = counts.statistics(average)
        assert statistics.score().value == pytest.approx(counts.f1(average))
        part = list(range(0, len(pairs), 2))
        flat = counts.counts[part].sum(0)
        undefined = not flat[:, 2].any() if average == "weighted" else not flat.any()
        assert np.isnan(statistics.score_subset(part)) == undefined


@settings(max_examples=25)
@given(st.lists(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.3, 0.4])), min_size=4, max_size=4),
                min_size=1, max_size=6))  # fmt: skip
def test_label_ranking_is_scikit_learns(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, scores = (np.array([[pair[side] for pair in row] for row in rows]) for side in (0, 1))
    expected = metrics.label_ranking_average_precision_score(gold, scores)
    assert label_ranking_average_precision(gold, scores) == pytest.approx(expected)


def test_a_confusion_matrix_by_hand():
    matrix = confusion_matrix(["a", "a", "a", "b"], ["a", "b", "b", "a"])
    assert matrix.counts.tolist() == [[1, 2], [1, 0]]
    assert matrix.confusions() == [("a", "b", 2), ("b", "a", 1)]
    assert matrix.table()[0] == {"gold \\ predicted": "a", "a": 1, "b": 2}
    with pytest.raises(FirthError, match="unknown label 'c'"):
        confusion_matrix(["a"], ["c"], ["a", "b"])


def test_correlation_is_undefined_without_variation():
    assert matthews_correlation(["a", "a"], ["a", "b"]).score().value is None
    assert matthews_correlation([], []).score().value is None
    assert label_ranking_average_precision(np.zeros((0, 2)), np.zeros((0, 2))) is None


def test_systems_that_predict_other_labels_are_compared_over_the_labels_of_both():
    gold, first, second = [["a"], ["b"], ["a"]], [["a"], ["c"], ["a"]], [["a"], ["b"], ["d"]]
    counts = [count_labels(gold, predicted) for predicted in (first, second)]
    labels = sorted({label for each in counts for label in each.labels})
    both = [each.statistics("macro", labels) for each in counts]
    assert [each.score().value for each in both] == pytest.approx([each.f1("macro") for each in counts])
    assert approximate_randomisation(*both, resamples=50).difference == pytest.approx(5 / 9 - 1 / 3)
    micro = [each.statistics() for each in counts]
    assert approximate_randomisation(*micro, resamples=50).difference == pytest.approx(0.0)
