"""Which tokens of a text are hit by noise: one at a time, or in spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.data.corrupt.masking import chosen


class Span(NamedTuple):
    """A stretch of a text; one of no tokens is a place between two."""

    start: int
    size: int

    @property
    def stop(self) -> int:
        """Where the text goes on."""
        return self.start + self.size


def some(size: int, share: float, random: np.random.Generator) -> np.ndarray:
    """A share of the places of a text (size,), each as probable as any other; at least one."""
    return chosen(np.ones((1, size), bool), random.random((1, size)), share)[0]


def runs(told: np.ndarray, most: int) -> list[Span]:
    """The chosen places that stand together as spans, the first `most` of them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], told.astype(np.int8), [0]])))
    return [Span(int(first), int(last - first)) for first, last in edges.reshape(-1, 2)][:most]


def even_spans(size: int, share: float, mean: float, most: int, random: np.random.Generator) -> list[Span]:
    """Spans that have a share of the tokens together, and `mean` each on average (Raffel et al. 2020)."""
    tokens = amount(size, share)
    count = min(max(1, round(tokens / mean)), most, size - tokens + 1) if tokens else 0
    cuts = np.sort(random.choice(tokens - 1, count - 1, replace=False)) + 1 if count > 1 else []
    sizes = np.diff([0, *cuts, tokens]) if count else []
    return placed(sizes, size, random)


def poisson_spans(size: int, share: float, mean: float, random: np.random.Generator) -> list[Span]:
    """Spans of Poisson lengths until they have a share of the tokens, those of none too (Lewis et al. 2020).

    A mark for each makes a text no longer: spans of none are left out where they would."""
    tokens, sizes = amount(size, share), []
    while sum(sizes) < tokens:
        sizes.append(min(int(random.poisson(mean)), tokens - sum(sizes)))
    real = [length for length in sizes if length]
    room = min(tokens, size - tokens + 1)
    if len(real) > room:  # hardly a token stays between them: the last become one
        real = [*real[: room - 1], sum(real[room - 1 :])]
    empty = min(sizes.count(0), room - len(real))
    return placed(random.permutation([*real, *[0] * empty]).astype(int), size, random)


def placed(sizes: Sequence[int], size: int, random: np.random.Generator) -> list[Span]:
    """Spans of these sizes, in their order, anywhere in a text; at least one token stays between two."""
    before = np.cumsum([0, *sizes])
    gaps = np.sort(random.choice(size - before[-1] + 1, len(sizes), replace=False))
    return [Span(int(gap + taken), int(length)) for gap, taken, length in zip(gaps, before, sizes, strict=False)]


def amount(size: int, share: float) -> int:
    """How many tokens a share of a text is: at least one, if it has any."""
    return min(size, max(1, round(share * size)))
