"""Sentences of the test text with their tokens: the passages with the highest surprisal are shown in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from firth.runs.ladder_folder import WorstPassage
from firth.tokenizers.split import split_sentences
from firth.tokenizers.tokenizer import Tokenizer

NUM_WORST = 5
_MAX_CHARACTERS = 400_000  # of text to search: token offsets take time
# of a passage: single words always have a high surprisal, long passages are hard to read
_MIN_BYTES, _MAX_BYTES = 24, 400


@dataclass(frozen=True)
class Passage:
    """A sentence, the index of its first token in the split, and the text of each token."""

    text: str
    start: int
    tokens: tuple[str, ...]


def extract_passages(documents: Iterable[str], tokenizer: Tokenizer, starts: np.ndarray) -> Iterator[Passage]:
    """Yield the sentences and lines of the first documents, except those that are too short or too long."""
    characters = 0
    for text, start, stop in zip(documents, starts[:-1], starts[1:], strict=False):
        if characters > _MAX_CHARACTERS:
            return
        characters += len(text)
        encoded = tokenizer.encode_with_offsets(text)
        if len(encoded.ids) == stop - start - 1:  # without [END]
            yield from _document_passages(text, encoded.offsets, int(start))


def _document_passages(text: str, offsets: Sequence[tuple[int, int]], start: int) -> Iterator[Passage]:
    ends = np.array([b for _, b in offsets])
    for begin, end in _spans(text):
        if not _MIN_BYTES <= len(text[begin:end].encode()) <= _MAX_BYTES:
            continue
        first, last = np.searchsorted(ends, [begin, end], side="right")  # a token belongs to the sentence of its end
        last = min(int(last) + 1, len(offsets)) if last < len(offsets) and offsets[last][0] < end else int(last)
        tokens = tuple(text[max(a, begin) : min(b, end)] for a, b in offsets[first:last])
        if tokens:
            yield Passage(text[begin:end], start + int(first), tokens)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character spans of the sentences of each line."""
    at = 0
    for line in text.split("\n"):
        for sentence in split_sentences(line):
            at = text.index(sentence, at)
            yield at, at + len(sentence)
            at += len(sentence)


def worst_passages(passages: Iterable[Passage], surprisals: np.ndarray) -> tuple[WorstPassage, ...]:
    """The distinct passages with the most bits per byte, the worst first."""
    ranked = sorted(((_bits(p, surprisals), p) for p in passages), key=lambda pair: -pair[0])
    distinct = {passage.text: (bits, passage) for bits, passage in reversed(ranked)}
    worst = sorted(distinct.values(), key=lambda pair: -pair[0])[:NUM_WORST]
    return tuple(WorstPassage(bits, p.tokens, _token_bits(p, surprisals)) for bits, p in worst)


def _bits(passage: Passage, surprisals: np.ndarray) -> float:
    total = surprisals[passage.start : passage.start + len(passage.tokens)].sum(dtype=np.float64)
    return float(total) / log(2) / len(passage.text.encode())


def _token_bits(passage: Passage, surprisals: np.ndarray) -> tuple[float, ...]:
    return tuple(
        round(float(value) / log(2), 2) for value in surprisals[passage.start : passage.start + len(passage.tokens)]
    )
