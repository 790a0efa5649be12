"""The noise functions of denoising objectives (BART, T5): deterministic functions of token ids and selected positions.

Token masking, token deletion, text infilling, sentence permutation and document rotation keep the whole text as the
target (BART; Lewis et al. 2020). Prefix, dropped tokens and span corruption with sentinels have only the missing tokens
as the target (T5; Raffel et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.datasets.collators.corruption.noise_spans import Span


class SourceTargetPair(NamedTuple):
    """The corrupted source of an encoder, and the target of the decoder; token ids without special tokens."""

    source: np.ndarray
    target: np.ndarray


# --- the target is the whole text (BART) --------------------------------------------------------------------------


def mask_tokens(text: np.ndarray, selected: np.ndarray, mask_id: int) -> np.ndarray:
    """Token masking: each selected token becomes [MASK] (Song et al. 2019 and Lewis et al. 2020)."""
    return np.where(selected, mask_id, text)


def delete_tokens(text: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Token deletion: selected tokens are removed, and nothing marks where they were."""
    return text[~selected]


def replace_spans(text: np.ndarray, spans: Sequence[Span], replacements: Sequence[int]) -> np.ndarray:
    """Text infilling: each span becomes one replacement token ([MASK] or a sentinel), however long it is."""
    parts, start = [], 0
    for span, replacement in zip(spans, replacements, strict=True):
        parts += [text[start : span.start], [replacement]]
        start = span.stop
    return np.concatenate([*parts, text[start:]]).astype(text.dtype)


def split_sentences(text: np.ndarray, is_sentence_end: np.ndarray) -> list[np.ndarray]:
    """The text cut after each token that ends a sentence; is_sentence_end is (vocabulary,)."""
    return [part for part in np.split(text, np.flatnonzero(is_sentence_end[text]) + 1) if len(part)]


def permute_sentences(sentences: Sequence[np.ndarray], order: Sequence[int]) -> np.ndarray:
    """Sentence permutation: the sentences in another order."""
    return np.concatenate([sentences[index] for index in order])


def rotate_document(text: np.ndarray, first: int) -> np.ndarray:
    """Document rotation: the text from one of its tokens on, then what preceded it."""
    return np.roll(text, -first)


# --- the target is only what is missing (T5) ----------------------------------------------------------------------


def split_prefix(text: np.ndarray, length: int) -> SourceTargetPair:
    """Prefix language modelling: the source is the beginning, the target its continuation."""
    return SourceTargetPair(text[:length], text[length:])


def drop_tokens(text: np.ndarray, selected: np.ndarray) -> SourceTargetPair:
    """Selected tokens are dropped from the source; they are the target, in their order."""
    return SourceTargetPair(text[~selected], text[selected])


def corrupt_spans(text: np.ndarray, spans: Sequence[Span], sentinels: Sequence[int]) -> SourceTargetPair:
    """Span corruption: each span becomes a sentinel of its own in the source; the target has each sentinel with the
    tokens of its span, and a final sentinel."""
    used, parts = sentinels[: len(spans)], []
    for span, sentinel in zip(spans, used, strict=True):
        parts += [[sentinel], text[span.start : span.stop]]
    target = np.concatenate([*parts, [sentinels[len(spans)]]]).astype(text.dtype)
    return SourceTargetPair(replace_spans(text, spans, used), target)
