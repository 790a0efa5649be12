"""Classification metrics for one or more labels per text: accuracy, confusion matrix, Matthews correlation; precision,
recall and F1, micro- and macro-averaged (by label: `label_counts.count_labels`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.display import Table
from firth.errors import unknown
from firth.metrics.corpus_metric import CorpusStatistics, digest, ratio
from firth.metrics.score import signature

Labels = Sequence[Hashable]
LabelSets = Sequence[Collection[Hashable]]


def precision(gold: LabelSets, predicted: LabelSets) -> float | None:
    """Micro-averaged precision: the fraction of predicted labels that are gold; None without predictions."""
    return _ratio(_true_positives(gold, predicted), sum(len(set(labels)) for labels in predicted))


def recall(gold: LabelSets, predicted: LabelSets) -> float | None:
    """Micro-averaged recall: the fraction of gold labels that are predicted; None without gold labels."""
    return _ratio(_true_positives(gold, predicted), sum(len(set(labels)) for labels in gold))


def macro_f1(gold: LabelSets, predicted: LabelSets) -> float | None:
    """Macro-averaged F1: the unweighted mean over all labels that are gold or predicted anywhere; None without any."""
    pairs = [(set(true), set(guess)) for true, guess in zip(gold, predicted, strict=True)]
    gold_counts = Counter(label for true, _ in pairs for label in true)
    predicted_counts = Counter(label for _, guess in pairs for label in guess)
    hits = Counter(label for true, guess in pairs for label in true & guess)
    labels = gold_counts | predicted_counts
    scores = [2.0 * hits[label] / (gold_counts[label] + predicted_counts[label]) for label in labels]
    return sum(scores) / len(scores) if scores else None


def _true_positives(gold: LabelSets, predicted: LabelSets) -> int:
    return sum(len(set(true) & set(guess)) for true, guess in zip(gold, predicted, strict=True))


def _ratio(hits: int, count: int) -> float | None:
    return hits / count if count else None


# --- one label each -----------------------------------------------------------------------------------------------


def accuracy(gold: Labels, predicted: Labels) -> CorpusStatistics:
    """The fraction of texts with the right label."""
    counts = [(true == guess, 1) for true, guess in zip(gold, predicted, strict=True)]
    return CorpusStatistics("accuracy", np.array(counts, float).reshape(-1, 2), ratio, signature(_data(gold)))


@dataclass(frozen=True)
class ConfusionMatrix:
    """How often each gold label got each prediction."""

    labels: tuple[Any, ...]
    counts: np.ndarray  # (gold, predicted)

    def table(self) -> Table[dict[str, Any]]:
        """A row for each gold label, a column for each prediction."""
        names, rows = list(map(str, self.labels)), self.counts.tolist()
        named = (dict(zip(names, row, strict=True)) for row in rows)
        return Table([{"gold \\ predicted": label, **row} for label, row in zip(self.labels, named, strict=True)])

    def confusions(self) -> list[tuple[Any, Any, int]]:
        """Gold label, wrong prediction and how often, most frequent first."""
        wrong = [(int(gold), int(guess)) for gold, guess in np.argwhere(self.counts) if gold != guess]
        wrong.sort(key=lambda pair: -self.counts[pair])
        return [(self.labels[gold], self.labels[guess], int(self.counts[gold, guess])) for gold, guess in wrong]


def confusion_matrix(gold: Labels, predicted: Labels, labels: Sequence[Hashable] = ()) -> ConfusionMatrix:
    """Counts over these labels, or over all that occur, sorted."""
    pairs = list(zip(gold, predicted, strict=True))
    names = tuple(labels) or tuple(sorted({label for pair in pairs for label in pair}, key=str))
    column = {label: at for at, label in enumerate(names)}
    counts = np.zeros((len(names), len(names)), np.int64)
    for true, guess in pairs:
        if true not in column or guess not in column:
            raise unknown("label", str(guess if true in column else true), map(str, names))
        counts[column[true], column[guess]] += 1
    return ConfusionMatrix(names, counts)


def matthews_correlation(gold: Labels, predicted: Labels, labels: Sequence[Hashable] = ()) -> CorpusStatistics:
    """The correlation of gold and predicted labels, two or more kinds of them (Matthews 1975; Gorodkin 2004). To
    compare two systems, name the labels of both."""
    names = confusion_matrix(gold, predicted, labels).labels
    column, size = {label: at for at, label in enumerate(names)}, len(names)
    counts = np.zeros((len(gold), size * size), np.int64)
    for row, true, guess in zip(counts, gold, predicted, strict=True):
        row[column[true] * size + column[guess]] = 1

    def correlation(sums: np.ndarray) -> float:
        table = sums.reshape(size, size).astype(float)
        golds, guesses, texts = table.sum(1), table.sum(0), table.sum()
        variation = (texts**2 - golds @ golds) * (texts**2 - guesses @ guesses)
        return float((np.trace(table) * texts - golds @ guesses) / np.sqrt(variation)) if variation > 0 else np.nan

    return CorpusStatistics("matthews_correlation", counts, correlation, signature(_data(gold)))


# --- several labels each ------------------------------------------------------------------------------------------


def subset_accuracy(gold: LabelSets, predicted: LabelSets) -> CorpusStatistics:
    """The fraction of texts with exactly the right labels."""
    counts = [(set(true) == set(guess), 1) for true, guess in zip(gold, predicted, strict=True)]
    data = _data([" ".join(sorted(map(str, labels))) for labels in gold])
    return CorpusStatistics("subset_accuracy", np.array(counts, float).reshape(-1, 2), ratio, signature(data))


def label_ranking_average_precision(gold: np.ndarray, scores: np.ndarray) -> float | None:
    """The mean over a text's gold labels of the fraction of gold labels among those ranked as high or higher; gold and
    scores (texts, labels). A text with no gold label, or with all, scores 1."""
    gold = np.asarray(gold, bool)
    if not len(gold):
        return None
    values = []
    for true, row in zip(gold, np.asarray(scores), strict=True):
        if true.all() or not true.any():
            values.append(1.0)
            continue
        above = row[None, :] >= row[true][:, None]  # (gold labels, labels): ranked as high or higher
        values.append(float((above[:, true].sum(1) / above.sum(1)).mean()))
    return float(np.mean(values))


def _data(gold: Labels) -> dict[str, object]:
    return {"data": digest([list(map(str, gold))])}
