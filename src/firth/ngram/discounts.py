"""Discounts of Kneser–Ney, modified Kneser–Ney and Katz (Good–Turing), from counts of counts, with fixed fallbacks."""

from __future__ import annotations

import numpy as np

MODIFIED_KNESER_NEY_FALLBACK = (0.5, 1.0, 1.5)  # of counts 1, 2 and 3+: KenLM's --discount_fallback
KNESER_NEY_FALLBACK = 0.75
KATZ_FALLBACK = 0.5  # absolute discount of counts up to KATZ_CUTOFF
KATZ_CUTOFF = 5  # Katz's k: larger counts are reliable and not discounted


def counts_of_counts(counts: np.ndarray, size: int) -> np.ndarray:
    """Return n_r, the number of n-grams with count r, for r = 0, 1, …, size − 1."""
    return np.bincount(np.minimum(counts, size).astype(np.int64), minlength=size + 1)[:size].astype(np.float64)


def kneser_ney_discounts(n_r: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """Kneser–Ney's single discount n₁ / (n₁ + 2 n₂) (Ney, Essen and Kneser 1994), by count 0, 1, 2, 3+."""
    discount = n_r[1] / (n_r[1] + 2 * n_r[2]) if n_r[1] and n_r[2] else KNESER_NEY_FALLBACK
    if not (n_r[1] and n_r[2]):
        notes.append(_fallback_message(order, f"using the fallback discount {KNESER_NEY_FALLBACK}"))
    return np.array([0.0, discount, discount, discount])


def modified_kneser_ney_discounts(n_r: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """Modified Kneser–Ney's discounts D₁, D₂, D₃₊ from n₁ to n₄ (Chen and Goodman 1999), by count 0, 1, 2, 3+."""
    discounts = np.zeros(4)
    if n_r[1:4].all():
        y = n_r[1] / (n_r[1] + 2 * n_r[2])
        discounts[1:] = [n - (n + 1) * y * n_r[n + 1] / n_r[n] for n in (1, 2, 3)]
    if (discounts[1:] <= 0).any():
        values = ", ".join(f"{value:g}" for value in MODIFIED_KNESER_NEY_FALLBACK)
        notes.append(_fallback_message(order, f"using the fallback discounts {values}"))
        discounts[1:] = MODIFIED_KNESER_NEY_FALLBACK
    return discounts


def good_turing_ratios(n_r: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """Good–Turing discount ratios d_r of counts 0, 1, …, KATZ_CUTOFF and more (Katz 1987)."""
    ratios, r = np.ones(KATZ_CUTOFF + 2), np.arange(1, KATZ_CUTOFF + 1)
    if n_r[1 : KATZ_CUTOFF + 2].all():
        excess = (KATZ_CUTOFF + 1) * n_r[KATZ_CUTOFF + 1] / n_r[1]
        ratios[1:-1] = ((r + 1) * n_r[r + 1] / (r * n_r[r]) - excess) / (1 - excess) if excess < 1 else 0
    if not n_r[1 : KATZ_CUTOFF + 2].all() or (ratios[1:-1] <= 0).any() or (ratios[1:-1] > 1).any():
        notes.append(_fallback_message(order, f"subtracting {KATZ_FALLBACK:g} from counts up to {KATZ_CUTOFF}"))
        ratios[1:-1] = (r - KATZ_FALLBACK) / r
    return ratios


def _fallback_message(order: int, fallback: str) -> str:
    return f"{order}-gram counts of counts give no valid discounts (too little text, or no rare n-grams): {fallback}"
