"""What noise does to a text, given what is hit: functions of arrays of tokens, without chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.data.corrupt.choosing import Span


class Pair(NamedTuple):
    """What is read, and what is to be written."""

    source: np.ndarray
    target: np.ndarray


# --- the whole text is to be written ------------------------------------------------------------------------------


def masked(text: np.ndarray, told: np.ndarray, mask: int) -> np.ndarray:
    """Chosen tokens become [MASK], one each (Song et al. 2019 and Lewis et al. 2020)."""
    return np.where(told, mask, text)


def deleted(text: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Chosen tokens are left out, without a trace."""
    return text[~told]


def filled(text: np.ndarray, spans: Sequence[Span], marks: Sequence[int]) -> np.ndarray:
    """Each span becomes one mark, however long it is."""
    parts, here = [], 0
    for span, mark in zip(spans, marks, strict=True):
        parts += [text[here : span.start], [mark]]
        here = span.stop
    return np.concatenate([*parts, text[here:]]).astype(text.dtype)


def sentences(text: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    """The text cut after each token that ends a sentence; ends (vocabulary)."""
    return [part for part in np.split(text, np.flatnonzero(ends[text]) + 1) if len(part)]


def permuted(parts: Sequence[np.ndarray], order: Sequence[int]) -> np.ndarray:
    """Sentences in another order."""
    return np.concatenate([parts[place] for place in order])


def rotated(text: np.ndarray, first: int) -> np.ndarray:
    """The text from one of its tokens on, and then what stood before it."""
    return np.roll(text, -first)


# --- only what is missing is to be written ------------------------------------------------------------------------


def cut(text: np.ndarray, place: int) -> Pair:
    """The beginning, and how it goes on."""
    return Pair(text[:place], text[place:])


def dropped(text: np.ndarray, told: np.ndarray) -> Pair:
    """Chosen tokens are left out; they are to be written, one after the other."""
    return Pair(text[~told], text[told])


def gapped(text: np.ndarray, spans: Sequence[Span], sentinels: Sequence[int]) -> Pair:
    """Each span becomes a mark of its own; after each mark its tokens are to be written, after a last mark nothing."""
    marks = sentinels[: len(spans)]
    parts = [part for span, mark in zip(spans, marks, strict=True) for part in ([mark], text[span.start : span.stop])]
    target = np.concatenate([*parts, [sentinels[len(spans)]]]).astype(text.dtype)
    return Pair(filled(text, spans, marks), target)
