"""Repetition and diversity of generated text: seq-rep-n (Welleck et al. 2020) and distinct-n (Li et al. 2016)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

ORDERS = (2, 3, 4)  # the n of `repetition_rates`


def seq_rep_n(tokens: Sequence[int], n: int) -> float | None:
    """seq-rep-n: 1 - distinct n-grams / all n-grams (Welleck et al. 2020); None if there are fewer than two."""
    repeated, total = count_repeated_ngrams(tokens, n)
    return None if total < 2 else repeated / total


def count_repeated_ngrams(tokens: Sequence[Hashable], n: int) -> tuple[int, int]:
    """How many n-grams occurred earlier in the text, and how many there are."""
    ngrams = _ngrams(tokens, n)
    return len(ngrams) - len(set(ngrams)), len(ngrams)


def distinct_n(texts: Iterable[Sequence[int]], n: int) -> float | None:
    """distinct-n: different n-grams over all n-grams of several texts together (Li et al. 2016)."""
    ngrams = [ngram for tokens in texts for ngram in _ngrams(tokens, n)]
    return len(set(ngrams)) / len(ngrams) if ngrams else None


def repetition_rates(tokens: Sequence[int]) -> dict[str, float | None]:
    """seq-rep-n for bigrams, trigrams and 4-grams."""
    return {f"rep_{n}": seq_rep_n(tokens, n) for n in ORDERS}


def _ngrams(tokens: Sequence[Hashable], n: int) -> list[tuple[Hashable, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
