"""The metrics of ladders: from sums of counts the same values as from all items, in both directions."""

import numpy as np
import pytest

from firth.metrics import classification, tagging
from firth.metrics.bootstrap import bootstrap_scores, bootstrap_systems
from firth.metrics.correlation import pearson
from firth.metrics.label_counts import count_labels
from firth.metrics.ladder_metric import (
    ACCURACY,
    BITS_PER_BYTE,
    CHUNK_F1,
    MACRO_F1,
    MEAN_SQUARED_ERROR,
    METRICS,
    PEARSON,
)

GOLD = [("a",), ("b",), ("a",), ("c",), ("b",), ("a",)]
GUESS = [("a",), ("a",), ("a",), ("b",), ("b",), ("c",)]


def test_labels_as_the_metrics_of_classification_say():
    counts = count_labels(GOLD, GUESS).statistics("macro", ["a", "b", "c", "never"]).counts
    assert MACRO_F1.value(counts) == pytest.approx(classification.macro_f1(GOLD, GUESS))
    right = np.array([(gold == guess, 1) for gold, guess in zip(GOLD, GUESS, strict=True)], float)
    assert ACCURACY.value(right) == classification.precision(GOLD, GUESS) == 0.5


def test_chunks_as_the_metric_of_tags_says():
    gold, guess = [["B-X", "I-X", "O"], ["B-Y", "O", "B-X"]], [["B-X", "I-X", "O"], ["O", "O", "B-Y"]]
    counts = tagging.chunk_f1(gold, guess)
    assert CHUNK_F1.value(counts.counts) == counts.compute(counts.total) == pytest.approx(0.4)
    assert CHUNK_F1.value(np.zeros((2, 3))) == 0.0  # where there are no chunks at all


def test_values_of_numbers():
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.5, 1.0, 5.0, 2.0])
    assert PEARSON.value(np.stack([np.ones(4), x, y, x * x, y * y, x * y], 1)) == pytest.approx(pearson(x, y))
    assert PEARSON.value(np.stack([np.ones(4), x, x * 0, x * x, x * 0, x * 0], 1)) == 0.0
    assert MEAN_SQUARED_ERROR.value(np.stack([(x - y) ** 2, np.ones(4)], 1)) == pytest.approx(((x - y) ** 2).mean())


def test_bits_per_byte_are_nats_by_bytes():
    assert BITS_PER_BYTE.value(np.array([[np.log(2) * 6, 2.0], [np.log(2) * 2, 2.0]])) == pytest.approx(2.0)


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_behind_is_positive_for_what_is_worse(metric):
    worse = {"higher": 0.2, "lower": 0.9}[metric.better]
    assert metric.behind(worse, 0.5) > 0 > metric.behind(0.5, worse)


def test_values_for_people():
    assert ACCURACY.format(0.9123) == "91.2 %" and ACCURACY.format(0.012, unit=False) == "1.2"
    assert BITS_PER_BYTE.format(1.5) == "1.500"


def test_all_systems_are_scored_on_the_same_resamples():
    rng = np.random.default_rng(0)
    systems = [ACCURACY.statistics(np.stack([rng.random(50) > bar, np.ones(50)], 1)) for bar in (0.2, 0.6)]
    together = bootstrap_systems(systems, seed=3, resamples=40)
    np.testing.assert_array_equal(together, np.stack([bootstrap_scores(each, 3, 40) for each in systems], 1))
