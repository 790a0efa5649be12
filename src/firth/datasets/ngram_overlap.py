"""Overlap of 24-grams of words (passages): found in another text wherever its lines and documents begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

WORDS = 24  # of a passage: so many in a row are hardly the same by chance
_BLOCK = 1 << 18  # words hashed at once
_TABLE_BITS = 22  # of a table that tells most hashes that are not wanted at once
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], np.uint64)

Array = np.ndarray


class NgramOverlap:
    """The passages of some texts, and which of them another text has."""

    def __init__(self, texts: Iterable[str]) -> None:
        codes = [_codes(text.split()) for text in texts]
        self._lengths = np.array([len(each) for each in codes], np.int64)
        self._hashes, self._place = np.unique(hash_passages(np.concatenate([*codes, _codes([])])), return_inverse=True)
        self._known = np.zeros(len(self._hashes), bool)
        self._wanted = np.zeros(1 << _TABLE_BITS, bool)
        self._wanted[_slot(self._hashes)] = True

    def mark(self, hashes: Array) -> None:
        """Remember that another text has passages with these hashes."""
        candidates = hashes[self._wanted[_slot(hashes)]]
        if len(candidates):
            places = np.minimum(np.searchsorted(self._hashes, candidates), len(self._hashes) - 1)
            self._known[places[self._hashes[places] == candidates]] = True

    def known_fractions(self) -> Array:
        """Of the words of each text, the fraction in passages that the other text has too."""
        ends = np.cumsum(self._lengths)
        total = int(ends[-1]) if len(ends) else 0
        starts = np.flatnonzero(self._known[self._place])
        starts = starts[starts + WORDS <= ends[np.searchsorted(ends, starts, "right")]]  # within one text
        depth = np.zeros(total + 1, np.int64)
        np.add.at(depth, starts, 1)
        np.add.at(depth, starts + WORDS, -1)
        known = np.concatenate([[0], np.cumsum(np.cumsum(depth[:-1]) > 0)])
        return (known[ends] - known[ends - self._lengths]) / np.maximum(self._lengths, 1)

    def known_texts(self, fraction: float) -> set[int]:
        """The numbers of the texts of which the other text has this fraction or more."""
        return set(np.flatnonzero(self.known_fractions() >= fraction).tolist())


@contextmanager
def reader(marks: Sequence[Callable[[Array], None]]) -> Iterator[Callable[[str], None]]:
    """A function that takes a text document by document; each of `marks` gets the hashes of its passages. Some begin in
    one document and end in the next."""
    words: list[str] = []

    def hand_over() -> None:
        hashes = hash_passages(_codes(words))
        for mark in marks:
            mark(hashes)
        del words[: 1 - WORDS]

    def read(document: str) -> None:
        words.extend(document.split())
        if len(words) >= _BLOCK:
            hand_over()

    yield read
    hand_over()


def hash_passages(codes: Array) -> Array:
    """The hash of the passage that begins at each word: of twice as many words each time, then of 16 and 8."""
    hashes = codes
    eight = codes
    for power, factor in enumerate(_FACTORS):
        eight = hashes if power == 3 else eight
        hashes = hashes[: -(1 << power)] * factor + hashes[1 << power :]
    sixteen, eight = hashes, eight[16:]
    return sixteen[: len(eight)] * _FACTORS[1] + eight


def _codes(words: Sequence[str]) -> Array:
    return np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)


def _slot(hashes: Array) -> Array:
    return hashes >> np.uint64(64 - _TABLE_BITS)
