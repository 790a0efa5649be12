"""How well guessed labels agree with the right ones. Each text has a set of right labels and a set of guesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence

Sets = Sequence[Collection[Hashable]]


def precision(right: Sets, guessed: Sets) -> float | None:
    """The share of guesses that are right; None without guesses."""
    return _share(_hits(right, guessed), sum(len(set(labels)) for labels in guessed))


def recall(right: Sets, guessed: Sets) -> float | None:
    """The share of right labels that are guessed; None without right labels."""
    return _share(_hits(right, guessed), sum(len(set(labels)) for labels in right))


def macro_f1(right: Sets, guessed: Sets) -> float | None:
    """The mean F1 of the labels that are right or guessed anywhere: rare labels count as much as common ones."""
    pairs = [(set(gold), set(guess)) for gold, guess in zip(right, guessed, strict=True)]
    there = Counter(label for gold, _ in pairs for label in gold)
    said = Counter(label for _, guess in pairs for label in guess)
    hits = Counter(label for gold, guess in pairs for label in gold & guess)
    every = [2.0 * hits[label] / (there[label] + said[label]) for label in there | said]
    return sum(every) / len(every) if every else None


def _hits(right: Sets, guessed: Sets) -> int:
    return sum(len(set(gold) & set(guess)) for gold, guess in zip(right, guessed, strict=True))


def _share(hits: int, count: int) -> float | None:
    return hits / count if count else None
