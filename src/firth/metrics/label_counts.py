"""Correct, predicted and gold items of each label in each text: the counts behind precision, recall and F1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from firth.display import Table
from firth.errors import FirthError, unknown
from firth.metrics.corpus_metric import CorpusStatistics
from firth.metrics.score import signature

Average = Literal["micro", "macro", "weighted"]
AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")
CORRECT, PREDICTED, GOLD = 0, 1, 2  # the columns


def _identity(item: Any) -> Any:
    return item


@dataclass(frozen=True)
class LabelCounts:
    """Counts of items (labels of a text, spans of a sentence) by label. An average is `micro` (over items), `macro`
    (over labels, also those that are only predicted) or `weighted` (over labels, by their gold items)."""

    labels: tuple[Any, ...]
    counts: np.ndarray  # (texts, labels, 3): correct, predicted, gold
    fields: dict[str, object] = field(default_factory=dict)  # of the signature

    def table(self) -> Table[dict[str, Any]]:
        """Precision, recall and F1 of each label with its gold items (support), then the averages."""
        totals = self.counts.sum(0)
        rows = [{"label": label, **_scores(total), "support": int(total[GOLD])} for label, total in
                zip(self.labels, totals, strict=True)]  # fmt: skip
        support = int(totals[:, GOLD].sum())
        return Table([*rows, *({"label": f"{name} average", **self.scores(name), "support": support}
                               for name in AVERAGES)])  # fmt: skip

    def scores(self, average: Average = "micro") -> dict[str, float | None]:
        """Precision, recall and F1 of all texts; None where nothing is predicted, or gold, or either."""
        return _average(self.counts.sum(0), average)

    def precision(self, average: Average = "micro") -> float | None:
        """The fraction of predicted items that are correct."""
        return self.scores(average)["precision"]

    def recall(self, average: Average = "micro") -> float | None:
        """The fraction of gold items that are predicted."""
        return self.scores(average)["recall"]

    def f1(self, average: Average = "micro") -> float | None:
        """The harmonic mean of precision and recall."""
        return self.scores(average)["f1"]

    def statistics(self, average: Average = "micro", labels: Sequence[Any] = ()) -> CorpusStatistics:
        """F1 as sums over texts, for the bootstrap and for subsets; its details are precision and recall. To compare
        two systems by an average over labels, name the labels of both."""
        counts = self._select(labels).counts if labels else self.counts
        counts = counts.sum(1, keepdims=True) if average == "micro" else counts
        shape = counts.shape[1:]

        def details(sums: np.ndarray) -> dict[str, float]:
            scores = _average(sums.reshape(shape), average)
            return {name: np.nan if value is None else value for name, value in scores.items()}

        flat, text = counts.reshape(len(counts), -1), signature({"average": average, **self.fields})
        return CorpusStatistics(f"{average}_f1", flat, lambda sums: details(sums)["f1"], text, details)

    def _select(self, labels: Sequence[Any]) -> LabelCounts:
        """The counts of these labels, zeros for a label that never occurs."""
        column = {label: at for at, label in enumerate(self.labels)}
        counts = np.zeros((len(self.counts), len(labels), 3), np.int64)
        for at, label in enumerate(labels):
            if label in column:
                counts[:, at] = self.counts[:, column[label]]
        return LabelCounts(tuple(labels), counts, self.fields)


def count_labels(
    gold: Sequence[Collection[Hashable]],
    predicted: Sequence[Collection[Hashable]],
    label_of: Callable[[Any], Any] = _identity,
    **fields: object,
) -> LabelCounts:
    """Items of each text that are gold and predicted, counted by their label; an item counts once."""
    pairs = [(set(true), set(guess)) for true, guess in zip(gold, predicted, strict=True)]
    labels = sorted({label_of(item) for true, guess in pairs for item in true | guess}, key=lambda x: (str(x), repr(x)))
    column = {label: at for at, label in enumerate(labels)}
    counts = np.zeros((len(pairs), len(labels), 3), np.int64)
    for row, (true, guess) in zip(counts, pairs, strict=True):
        for kind, items in ((CORRECT, true & guess), (PREDICTED, guess), (GOLD, true)):
            for item in items:
                row[column[label_of(item)], kind] += 1
    return LabelCounts(tuple(labels), counts, fields)


def check_lengths(gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> None:
    """An error that names the first sentence whose tags are not one for each word."""
    if len(gold) != len(predicted):
        raise FirthError(f"{len(gold):,} gold and {len(predicted):,} predicted sentences", do="pass one for each")
    for at, (true, guess) in enumerate(zip(gold, predicted, strict=True)):
        if len(true) != len(guess):
            raise FirthError(f"{len(true)} gold and {len(guess)} predicted tags", where=f"sentence {at}")


def _average(totals: np.ndarray, average: Average) -> dict[str, float | None]:
    """Scores from totals (labels, 3). An average over labels is over those that occur; an undefined score is zero."""
    if average not in AVERAGES:
        raise unknown("average", average, AVERAGES)
    if average == "micro":
        return _scores(totals.sum(0))
    totals = totals[totals.any(1)]
    weights = totals[:, GOLD] if average == "weighted" else np.ones(len(totals))
    if not weights.sum():
        return dict.fromkeys(("precision", "recall", "f1"))
    each = [_scores(total) for total in totals]
    return {name: float(np.average([row[name] or 0.0 for row in each], weights=weights)) for name in each[0]}


def _scores(total: np.ndarray) -> dict[str, float | None]:
    correct, predicted, gold = (float(count) for count in total)
    return {
        "precision": correct / predicted if predicted else None,
        "recall": correct / gold if gold else None,
        "f1": 2 * correct / (predicted + gold) if predicted + gold else None,
    }
