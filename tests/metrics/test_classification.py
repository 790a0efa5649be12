"""Classification metrics against scikit-learn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.metrics.classification import macro_f1, precision, recall

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
