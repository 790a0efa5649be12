"""How much is taken off a count, estimated from how many n-grams occur once, twice, …; or else fixed."""

from __future__ import annotations

import numpy as np

FALLBACK = (0.5, 1.0, 1.5)  # of counts 1, 2 and more: those of KenLM's --discount_fallback
PLAIN_FALLBACK = 0.75  # plain Kneser–Ney
KATZ_FALLBACK = 0.5  # taken off counts up to RELIABLE
RELIABLE = 5  # Katz: larger counts are not discounted


def counts_of_counts(counts: np.ndarray, size: int) -> np.ndarray:
    """How many n-grams have count 0, 1, …, size − 1."""
    return np.bincount(np.minimum(counts, size).astype(np.int64), minlength=size + 1)[:size].astype(np.float64)


def plain_discounts(of: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """Ney, Essen and Kneser's estimate (1994), from how many n-grams occur once and twice."""
    discount = of[1] / (of[1] + 2 * of[2]) if of[1] and of[2] else PLAIN_FALLBACK
    if not (of[1] and of[2]):
        notes.append(_told(order, f"the discount {PLAIN_FALLBACK} is taken"))
    return np.array([0.0, discount, discount, discount])


def modified_discounts(of: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """Chen and Goodman's estimates (1999), from how many n-grams occur once, twice, three and four times."""
    found = np.zeros(4)
    if of[1:4].all():
        share = of[1] / (of[1] + 2 * of[2])
        found[1:] = [n - (n + 1) * share * of[n + 1] / of[n] for n in (1, 2, 3)]
    if (found[1:] <= 0).any():
        notes.append(_told(order, f"the discounts {', '.join(f'{value:g}' for value in FALLBACK)} are taken"))
        found[1:] = FALLBACK
    return found


def good_turing(of: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """What is kept of counts 0, 1, …, RELIABLE and more, as shares (Katz 1987)."""
    keeps, small = np.ones(RELIABLE + 2), np.arange(1, RELIABLE + 1)
    if of[1 : RELIABLE + 2].all():
        excess = (RELIABLE + 1) * of[RELIABLE + 1] / of[1]
        keeps[1:-1] = ((small + 1) * of[small + 1] / (small * of[small]) - excess) / (1 - excess) if excess < 1 else 0
    if not of[1 : RELIABLE + 2].all() or (keeps[1:-1] <= 0).any() or (keeps[1:-1] > 1).any():
        notes.append(_told(order, f"{KATZ_FALLBACK:g} is taken off counts up to {RELIABLE}"))
        keeps[1:-1] = (small - KATZ_FALLBACK) / small
    return keeps


def _told(order: int, what: str) -> str:
    return f"the counts of {order}-grams give no sound discounts (too little text, or rare ones are missing): {what}"
