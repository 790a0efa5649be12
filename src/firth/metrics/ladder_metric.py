"""What a ladder climbs: a metric's name and direction, and its value from sums of counts over held-out items (texts,
sentences), so that every metric has the same paired bootstrap and the same significance tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from firth.metrics.corpus_metric import CorpusStatistics
from firth.metrics.label_counts import LabelCounts


@dataclass(frozen=True)
class LadderMetric:
    """A metric of a ladder. `compute` takes the sum over items of their counts (statistics,); where the metric is
    undefined, such as F1 without any span, it gives the worst value."""

    name: str
    better: Literal["higher", "lower"]
    compute: Callable[[np.ndarray], float]
    unit: str = ""  # of the value as it is shown
    scale: float = 1.0  # of the value as it is shown: 100 for percent
    digits: int = 3  # after the point
    floor: float | None = None  # the best possible value, if it is known

    @property
    def sign(self) -> int:
        """1 if a lower value is better, else -1."""
        return 1 if self.better == "lower" else -1

    def behind(self, value: float, best: float) -> float:
        """How much worse a value is than another, positive if it is worse."""
        return self.sign * (value - best)

    def format(self, value: float, signed: bool = False, unit: bool = True) -> str:
        """A value, or a difference of two, for people."""
        number = f"{value * self.scale:{'+' if signed else ''}.{self.digits}f}"
        return f"{number}{self.unit}" if unit else number

    def statistics(self, counts: np.ndarray) -> CorpusStatistics:
        """Counts of items (items, statistics) as what the bootstrap takes."""
        return CorpusStatistics(self.name, np.asarray(counts, np.float64), self.compute, self.name)

    def value(self, counts: np.ndarray) -> float:
        """The value of all items together."""
        return self.compute(np.asarray(counts, np.float64).sum(0))


def _ratio(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def _bits(sums: np.ndarray) -> float:
    return float(sums[0] / log(2) / sums[1])


def _micro_f1(sums: np.ndarray) -> float:
    correct, predicted, gold = sums
    return float(2 * correct / (predicted + gold)) if predicted + gold else 0.0


def _macro_f1(sums: np.ndarray) -> float:
    """From correct, predicted and gold items of each label (3 labels,)."""
    labels = len(sums) // 3
    return LabelCounts(tuple(range(labels)), sums.reshape(1, labels, 3)).f1("macro") or 0.0


def _pearson(sums: np.ndarray) -> float:
    """From counts, x, y, x², y² and xy; 0 if one side is constant."""
    count, x, y, xx, yy, xy = sums
    variation = (count * xx - x * x) * (count * yy - y * y)
    return float((count * xy - x * y) / np.sqrt(variation)) if variation > 1e-12 else 0.0


def _percentage(name: str, compute: Callable[[np.ndarray], float]) -> LadderMetric:
    return LadderMetric(name, "higher", compute, unit=" %", scale=100.0, digits=1, floor=1.0)


BITS_PER_BYTE = LadderMetric("bits per byte", "lower", _bits)  # counts: nats, bytes
ACCURACY = _percentage("accuracy", _ratio)  # counts: right ones, all
MACRO_F1 = _percentage("macro F1", _macro_f1)
CHUNK_F1 = _percentage("chunk F1", _micro_f1)  # counts: correct, predicted, gold
ANSWER_F1 = _percentage("answer F1", _ratio)  # counts: F1 of a question, 1
PEARSON = LadderMetric("Pearson correlation", "higher", _pearson, floor=1.0)
MEAN_SQUARED_ERROR = LadderMetric("mean squared error", "lower", _ratio, floor=0.0)  # counts: squared errors, items
_ALL = (BITS_PER_BYTE, ACCURACY, MACRO_F1, CHUNK_F1, ANSWER_F1, PEARSON, MEAN_SQUARED_ERROR)
METRICS = {metric.name: metric for metric in _ALL}
