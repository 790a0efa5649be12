"""Subword vectors (Bojanowski et al. 2017): character n-grams hashed into buckets, exactly as in fastText; they compose
the vectors of out-of-vocabulary (OOV) words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.embeddings.word_table import WordTable
from firth.errors import FirthError

EOS = "</s>"  # fastText's end-of-line word; it has no subwords
_BASIS, _PRIME = 2166136261, 16777619


class SubwordTable(NamedTuple):
    """The bucket ids of many words: those of word i are `buckets[first[i] : first[i + 1]]`."""

    first: np.ndarray  # int64 (words + 1,)
    buckets: np.ndarray  # int32


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash as fastText computes it: bytes are sign-extended to 32 bits."""
    value = _BASIS
    for byte in data:
        value = (value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * _PRIME & 0xFFFFFFFF
    return value


def char_ngrams(word: str, min_n: int, max_n: int) -> list[str]:
    """The character n-grams of `<word>` for n from `min_n` to `max_n`, in fastText's order, without single `<` and
    `>`."""
    if word == EOS:
        return []
    text, ngrams = f"<{word}>", []
    for start in range(len(text)):
        for stop in range(start + max(1, min_n), min(start + max_n, len(text)) + 1):
            if stop - start > 1 or 0 < start < len(text) - 1:
                ngrams.append(text[start:stop])
    return ngrams


class Subwords:
    """A vector for each bucket of character n-grams, and for each word of the vocabulary a row of its own."""

    def __init__(
        self,
        buckets: np.ndarray,
        min_n: int,
        max_n: int,
        word_rows: np.ndarray | None = None,
        used_buckets: np.ndarray | None = None,
        bucket_count: int | None = None,
    ) -> None:
        """`word_rows` (words, width) are kept if known: fastText's .bin needs them.

        Of `bucket_count` buckets, those not in `used_buckets` (ids, ascending) have a zero vector and no row.
        """
        if buckets.ndim != 2 or not 0 <= min_n <= max_n:
            raise FirthError(f"character n-grams of {min_n} to {max_n} in buckets of shape {buckets.shape}")
        self.buckets, self.min_n, self.max_n = buckets, min_n, max_n
        self.word_rows, self.used_buckets = word_rows, used_buckets
        self.bucket_count = len(buckets) if bucket_count is None else bucket_count

    def ngrams(self, word: str) -> list[str]:
        """The word's character n-grams."""
        return char_ngrams(word, self.min_n, self.max_n) if self.bucket_count else []

    def bucket_ids(self, word: str) -> np.ndarray:
        """int64: the bucket of each character n-gram of the word."""
        ids = [fnv1a(ngram.encode(errors="replace")) % self.bucket_count for ngram in self.ngrams(word)]
        return np.array(ids, np.int64)

    def vector(self, word: str) -> np.ndarray:
        """float32 (width,): the vector of an OOV word, the mean of its character n-grams; zeros if it has none."""
        ids = self.bucket_ids(word)
        rows = self.bucket_rows(ids)
        total = np.add.reduce(self.buckets[rows[rows >= 0]], axis=0, dtype=np.float32)  # sequential, as in fastText
        return total * np.float32(1 / max(1, len(ids)))

    def bucket_rows(self, bucket_ids: np.ndarray) -> np.ndarray:
        """The rows of these buckets' vectors; −1 for a zero vector."""
        used = self.used_buckets
        if used is None:
            return bucket_ids
        if not len(used):
            return np.full(len(bucket_ids), -1)
        rows = np.minimum(np.searchsorted(used, bucket_ids), len(used) - 1)
        return np.where(used[rows] == bucket_ids, rows, -1)

    def all_buckets(self) -> np.ndarray:
        """(bucket_count, width), zero vectors included."""
        if self.used_buckets is None:
            return self.buckets
        vectors = np.zeros((self.bucket_count, self.buckets.shape[1]), np.float32)
        vectors[self.used_buckets] = self.buckets
        return vectors

    def subset(self, rows: np.ndarray) -> Subwords:
        """The same buckets for some of the words."""
        word_rows = None if self.word_rows is None else self.word_rows[rows]
        return Subwords(self.buckets, self.min_n, self.max_n, word_rows, self.used_buckets, self.bucket_count)

    def table(self, words: Sequence[str]) -> SubwordTable:
        """The bucket ids of all words at once (compiled)."""
        return subword_table(WordTable.of(words), self.min_n, self.max_n, self.bucket_count)

    def compose(self, words: Sequence[str], word_rows: np.ndarray) -> np.ndarray:
        """float32 (words, width): the vector of each word, the mean of its own row and its n-grams (compiled)."""
        from firth.embeddings.subword_kernels import compose

        first, ids = self.table(words)
        rows, out = self.bucket_rows(ids), np.empty(word_rows.shape, np.float32)
        compose(np.ascontiguousarray(word_rows), np.ascontiguousarray(self.buckets), first, rows, out)
        return out

    def decompose(self, words: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """The words' own rows: those kept, or recovered from the composed vectors up to rounding."""
        if self.word_rows is not None:
            return self.word_rows
        first, ids = self.table(words)
        word_rows = np.empty(vectors.shape, np.float32)
        for word in range(len(word_rows)):
            rows = self.bucket_rows(ids[first[word] : first[word + 1]])
            total = vectors[word].astype(np.float64) * (len(rows) + 1)
            word_rows[word] = total - self.buckets[rows[rows >= 0]].sum(axis=0, dtype=np.float64)
        return word_rows


def subword_table(words: WordTable, min_n: int, max_n: int, bucket_count: int) -> SubwordTable:
    """The bucket ids of all character n-grams of all words (compiled)."""
    from firth.embeddings.subword_kernels import hash_char_ngrams

    if not bucket_count:
        return SubwordTable(np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32))
    text = np.frombuffer(b"<" + words.blob[:-1].replace(b"\n", b">\n<") + b">\n", np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    first = np.zeros(len(words) + 1, np.int64)
    hash_char_ngrams(text, ends, min_n, max_n, bucket_count, first, np.empty(0, np.int32))  # counts
    buckets = np.empty(first[-1], np.int32)
    hash_char_ngrams(text, ends, min_n, max_n, bucket_count, first, buckets)
    return SubwordTable(first, buckets)
