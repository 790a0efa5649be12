"""Sampling of the positions that noise corrupts: single tokens (i.i.d.), random spans (T5), Poisson spans (BART)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.datasets.collators.corruption.masking import select_positions


class Span(NamedTuple):
    """A span of tokens; an empty one is a position between two tokens."""

    start: int
    size: int

    @property
    def stop(self) -> int:
        """The position after the last token."""
        return self.start + self.size


def sample_positions(size: int, noise_density: float, random: np.random.Generator) -> np.ndarray:
    """A random fraction (noise density) of the positions of a text, at least one (size,)."""
    return select_positions(np.ones((1, size), bool), random.random((1, size)), noise_density)[0]


def contiguous_spans(selected: np.ndarray, max_spans: int) -> list[Span]:
    """The selected positions merged into spans of neighbours, the first `max_spans` of them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], selected.astype(np.int8), [0]])))
    return [Span(int(first), int(last - first)) for first, last in edges.reshape(-1, 2)][:max_spans]


def random_spans(
    size: int, noise_density: float, mean_length: float, max_spans: int, random: np.random.Generator
) -> list[Span]:
    """T5's spans (Raffel et al. 2020): together a fraction of the tokens, `mean_length` each on average."""
    tokens = noise_token_count(size, noise_density)
    count = min(max(1, round(tokens / mean_length)), max_spans, size - tokens + 1) if tokens else 0
    cuts = np.sort(random.choice(tokens - 1, count - 1, replace=False)) + 1 if count > 1 else []
    lengths = np.diff([0, *cuts, tokens]) if count else []
    return place_spans(lengths, size, random)


def poisson_spans(size: int, noise_density: float, mean_length: float, random: np.random.Generator) -> list[Span]:
    """BART's spans (Lewis et al. 2020): Poisson lengths, 0 among them, until they have a fraction of the tokens.

    One [MASK] for each must not make the text longer: empty spans that would are left out."""
    tokens, lengths = noise_token_count(size, noise_density), []
    while sum(lengths) < tokens:
        lengths.append(min(int(random.poisson(mean_length)), tokens - sum(lengths)))
    real = [n for n in lengths if n]
    room = min(tokens, size - tokens + 1)
    if len(real) > room:  # hardly a token remains between them: the last become one
        real = [*real[: room - 1], sum(real[room - 1 :])]
    empty = min(lengths.count(0), room - len(real))
    return place_spans(random.permutation([*real, *[0] * empty]).astype(int), size, random)


def place_spans(lengths: Sequence[int], size: int, random: np.random.Generator) -> list[Span]:
    """Spans of these lengths, in their order, at random positions of a text; at least one token between two."""
    before = np.cumsum([0, *lengths])
    gaps = np.sort(random.choice(size - before[-1] + 1, len(lengths), replace=False))
    return [Span(int(gap + covered), int(length)) for gap, covered, length in zip(gaps, before, lengths, strict=False)]


def noise_token_count(size: int, noise_density: float) -> int:
    """The number of tokens to corrupt: a fraction of the text, at least one if it has any."""
    return min(size, max(1, round(noise_density * size)))
