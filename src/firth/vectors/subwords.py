"""Vectors of word parts (Bojanowski et al. 2017): character n-grams in hash buckets, exactly as fastText has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.vectors.words import Words

END_OF_LINE = "</s>"  # fastText's own word; it has no parts
_BASIS, _PRIME = 2166136261, 16777619


class Table(NamedTuple):
    """The buckets of many words: those of word i are `buckets[first[i] : first[i + 1]]`."""

    first: np.ndarray  # int64 (words + 1,)
    buckets: np.ndarray  # int32


def fnv(data: bytes) -> int:
    """FNV-1a in 32 bits as fastText computes it: a byte from 128 on is a negative number, in 32 bits."""
    found = _BASIS
    for byte in data:
        found = (found ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * _PRIME & 0xFFFFFFFF
    return found


def ngrams(word: str, least: int, most: int) -> list[str]:
    """The parts of `<word>` of `least` to `most` characters, in fastText's order; the single `<` and `>` are none."""
    if word == END_OF_LINE:
        return []
    text, found = f"<{word}>", []
    for start in range(len(text)):
        for stop in range(start + max(1, least), min(start + most, len(text)) + 1):
            if stop - start > 1 or 0 < start < len(text) - 1:
                found.append(text[start:stop])
    return found


class Subwords:
    """A vector for each bucket of n-grams, and for each known word its own part, which no other word shares."""

    def __init__(
        self,
        buckets: np.ndarray,
        least: int,
        most: int,
        own: np.ndarray | None = None,
        used: np.ndarray | None = None,
        count: int | None = None,
    ) -> None:
        """`own` (words, width) is kept if it is at hand: a file of fastText needs it.

        Of `count` buckets, those not `used` (their numbers, rising) have a vector of zeros and no row.
        """
        if buckets.ndim != 2 or not 0 <= least <= most:
            raise FirthError(f"n-grams of {least} to {most} characters in buckets of shape {buckets.shape}")
        self.buckets, self.least, self.most, self.own, self.used = buckets, least, most, own, used
        self.count = len(buckets) if count is None else count  # how many buckets there are

    def ngrams(self, word: str) -> list[str]:
        """The word's parts."""
        return ngrams(word, self.least, self.most) if self.count else []

    def hashes(self, word: str) -> np.ndarray:
        """int64: the bucket of each part of the word."""
        found = [fnv(part.encode(errors="replace")) % self.count for part in self.ngrams(word)]
        return np.array(found, np.int64)

    def vector(self, word: str) -> np.ndarray:
        """float32 (width,): the mean of the parts of a word never seen; zeros if it has none."""
        hashes = self.hashes(word)
        rows = self.rows(hashes)
        total = np.add.reduce(self.buckets[rows[rows >= 0]], axis=0, dtype=np.float32)  # in turn, as fastText adds
        return total * np.float32(1 / max(1, len(hashes)))

    def rows(self, hashes: np.ndarray) -> np.ndarray:
        """Where these buckets' vectors are; −1 for zeros."""
        if self.used is None:
            return hashes
        places = np.minimum(np.searchsorted(self.used, hashes), max(0, len(self.used) - 1))
        return np.where(self.used[places] == hashes, places, -1) if len(self.used) else np.full(len(hashes), -1)

    def all_buckets(self) -> np.ndarray:
        """(count, width) with those of zeros."""
        if self.used is None:
            return self.buckets
        found = np.zeros((self.count, self.buckets.shape[1]), np.float32)
        found[self.used] = self.buckets
        return found

    def only(self, rows: np.ndarray) -> Subwords:
        """The same parts beside some of the words."""
        own = None if self.own is None else self.own[rows]
        return Subwords(self.buckets, self.least, self.most, own, self.used, self.count)

    def table(self, words: Sequence[str]) -> Table:
        """The buckets of all words at once (compiled)."""
        return table(Words.of(words), self.least, self.most, self.count)

    def compose(self, words: Sequence[str], own: np.ndarray) -> np.ndarray:
        """float32 (words, width): for each known word the mean of its own part and its n-grams (compiled)."""
        from firth.vectors.parts import compose

        first, buckets = self.table(words)
        out = np.empty(own.shape, np.float32)
        compose(np.ascontiguousarray(own), np.ascontiguousarray(self.buckets), first, self.rows(buckets), out)
        return out

    def divide(self, words: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """The words' own parts: those kept, else worked out from their whole vectors, to rounding."""
        if self.own is not None:
            return self.own
        first, buckets = self.table(words)
        own = np.empty(vectors.shape, np.float32)
        for word in range(len(own)):
            here = self.rows(buckets[first[word] : first[word + 1]])
            whole = vectors[word].astype(np.float64) * (len(here) + 1)
            own[word] = whole - self.buckets[here[here >= 0]].sum(axis=0, dtype=np.float64)
        return own


def table(words: Words, least: int, most: int, count: int) -> Table:
    """The buckets, out of `count`, of all n-grams of all words (compiled)."""
    from firth.vectors.parts import hash_words

    if not count:
        return Table(np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32))
    text = np.frombuffer(b"<" + words.blob[:-1].replace(b"\n", b">\n<") + b">\n", np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    first = np.zeros(len(words) + 1, np.int64)
    hash_words(text, ends, least, most, count, first, np.empty(0, np.int32))  # counts
    buckets = np.empty(first[-1], np.int32)
    hash_words(text, ends, least, most, count, first, buckets)
    return Table(first, buckets)
