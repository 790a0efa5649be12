"""Classification metrics for one or more labels per text: micro-averaged precision and recall, macro-averaged F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence

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
