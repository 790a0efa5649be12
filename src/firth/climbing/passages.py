"""Sentences of a text with their tokens, so that the worst-predicted ones can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from firth.runs.ladder import Surprise
from firth.text.split import sentences
from firth.text.tokenizer import Tokenizer

SHOWN = 5
_CHARACTERS = 400_000  # of text that is looked at: places of tokens in the text cost time
_LEAST, _MOST = 24, 400  # bytes of a passage: single words are always surprising, long ones hard to read


@dataclass(frozen=True)
class Passage:
    """A sentence, where its tokens stand in the split, and the text of each."""

    text: str
    start: int
    pieces: tuple[str, ...]


def passages(documents: Iterable[str], tokenizer: Tokenizer, starts: np.ndarray) -> Iterator[Passage]:
    """The sentences and lines of the first documents, those that are too short or too long left out."""
    seen = 0
    for text, start, stop in zip(documents, starts[:-1], starts[1:], strict=False):
        if seen > _CHARACTERS:
            return
        seen += len(text)
        found = tokenizer.encode(text)
        if len(found.ids) == stop - start - 1:  # without [END]
            yield from _of_document(text, found.offsets, int(start))


def _of_document(text: str, offsets: Sequence[tuple[int, int]], start: int) -> Iterator[Passage]:
    ends = np.array([b for _, b in offsets])
    for begin, end in _spans(text):
        if not _LEAST <= len(text[begin:end].encode()) <= _MOST:
            continue
        first, last = np.searchsorted(ends, [begin, end], side="right")  # a token belongs where its end is
        last = min(int(last) + 1, len(offsets)) if last < len(offsets) and offsets[last][0] < end else int(last)
        pieces = tuple(text[max(a, begin) : min(b, end)] for a, b in offsets[first:last])
        if pieces:
            yield Passage(text[begin:end], start + int(first), pieces)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of each line stand."""
    at = 0
    for line in text.split("\n"):
        for sentence in sentences(line):
            at = text.index(sentence, at)
            yield at, at + len(sentence)
            at += len(sentence)


def worst(found: Iterable[Passage], nats: np.ndarray) -> tuple[Surprise, ...]:
    """The passages with most bits per byte, the worst first, none twice."""
    ranked = sorted(((_bits(p, nats), p) for p in found), key=lambda pair: -pair[0])
    different = {passage.text: (bits, passage) for bits, passage in reversed(ranked)}
    kept = sorted(different.values(), key=lambda pair: -pair[0])[:SHOWN]
    return tuple(Surprise(bits, p.pieces, _each(p, nats)) for bits, p in kept)


def _bits(passage: Passage, nats: np.ndarray) -> float:
    total = nats[passage.start : passage.start + len(passage.pieces)].sum(dtype=np.float64)
    return float(total) / log(2) / len(passage.text.encode())


def _each(passage: Passage, nats: np.ndarray) -> tuple[float, ...]:
    return tuple(round(float(n) / log(2), 2) for n in nats[passage.start : passage.start + len(passage.pieces)])
