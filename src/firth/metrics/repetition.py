"""How much a text repeats itself, and how varied several are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

ORDERS = (2, 3, 4)  # of the runs that `repetition` looks at


def repeated(tokens: Sequence[int], order: int) -> float | None:
    """The share of runs of `order` tokens that stood in the text before (Welleck et al. 2020: 1 - distinct / all).

    None where the text is too short to have two.
    """
    again, runs = repeated_runs(tokens, order)
    return None if runs < 2 else again / runs


def repeated_runs(tokens: Sequence[Hashable], order: int) -> tuple[int, int]:
    """How many runs of `order` tokens stood in the text before, and how many there are."""
    runs = _runs(tokens, order)
    return len(runs) - len(set(runs)), len(runs)


def distinct(texts: Iterable[Sequence[int]], order: int) -> float | None:
    """Different runs of `order` tokens over all runs of several texts together (Li et al. 2016)."""
    runs = [run for tokens in texts for run in _runs(tokens, order)]
    return len(set(runs)) / len(runs) if runs else None


def repetition(tokens: Sequence[int]) -> dict[str, float | None]:
    """`repeated` for pairs, threes and fours."""
    return {f"rep_{order}": repeated(tokens, order) for order in ORDERS}


def _runs(tokens: Sequence[Hashable], order: int) -> list[tuple[Hashable, ...]]:
    return [tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1)]
