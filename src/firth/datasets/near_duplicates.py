"""Near-duplicate detection by MinHash and locality-sensitive hashing (LSH) with banding (Broder 1997).

A document is the set of its shingles (word n-grams). The fraction of equal positions in two MinHash signatures
estimates the Jaccard similarity of the sets. Only signatures are stored, never texts: 0.5 to 1 kB per document.
A document is compared with every document it shares a band with: where all share some, the time is quadratic.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from firth.errors import FirthError

HASHES = 128  # length of a signature; the standard error of an estimate is at most 0.5 / sqrt(128) = 0.044
CANDIDATE_PROBABILITY = 0.99  # of a pair whose similarity is exactly the threshold
INITIAL_CAPACITY = 1024  # documents
BUFFER = 128  # newest documents, compared exhaustively before they are put into a sorted table
BLOCK = 4096  # shingles hashed at once: bounds the memory for a long document

Array = np.ndarray
_DOCUMENT = np.uint64(0xFFFFFFFF)


class MinHasher:
    """MinHash signatures of word sequences; the same words and seed give the same signature on every machine."""

    def __init__(self, shingle_size: int = 5, num_hashes: int = HASHES, seed: int = 1) -> None:
        if shingle_size < 1 or num_hashes < 1:
            what = "a shingle has at least one word and a signature at least one hash"
            raise FirthError(what, where="near-duplicates", do="give 1 or more for both")
        random = _splitmix64(np.arange(shingle_size + 2 * num_hashes, dtype=np.uint64) + _splitmix64(np.uint64([seed])))
        self.shingle_size, self.num_hashes = shingle_size, num_hashes
        self._position_weights = random[:shingle_size] | np.uint64(1)
        multipliers, increments = random[shingle_size:].astype(np.uint32).reshape(2, num_hashes, 1)
        self._multipliers, self._increments = multipliers | np.uint32(1), increments

    def shingles(self, words: Sequence[str]) -> Array:
        """The hash of each shingle; a text shorter than a shingle is one shingle. There must be a word."""
        codes = np.fromiter((crc32(word.encode()) for word in words), np.uint64, len(words))
        size = min(self.shingle_size, len(codes))
        count = len(codes) - size + 1
        total = np.full(count, size, np.uint64)
        for offset in range(size):
            total += codes[offset : offset + count] * self._position_weights[offset]
        return _splitmix64(total).astype(np.uint32)  # 32-bit arithmetic is ten times as fast as 64-bit

    def signature(self, words: Sequence[str]) -> Array:
        """(hashes,) the low 16 bits of the minimum over the shingles of each hash function."""
        shingles = self.shingles(words)
        minimum = np.full(len(self._multipliers), 0xFFFFFFFF, np.uint32)
        for start in range(0, len(shingles), BLOCK):
            hashed = shingles[start : start + BLOCK] * self._multipliers  # (hashes, shingles), modulo 2^32
            hashed += self._increments
            np.minimum(minimum, hashed.min(axis=1), out=minimum)
        return minimum.astype(np.uint16)


class MinHashLSH:
    """An LSH index of the documents added so far, queried for near-duplicates of a new one."""

    def __init__(self, threshold: float, hasher: MinHasher) -> None:
        if not 0 < threshold <= 1:
            raise FirthError(f"the similarity {threshold:g} is not in (0, 1]", where="near-duplicates", do="try 0.8")
        self._hasher, num_hashes = hasher, hasher.num_hashes
        self._min_equal = int(np.ceil(threshold * num_hashes - 1e-9))  # equal positions of two signatures
        self.bands, self.rows = choose_bands(threshold, num_hashes)
        multipliers = _splitmix64(np.arange(self.bands * self.rows, dtype=np.uint64))
        self._band_multipliers = multipliers.reshape(self.bands, -1) | np.uint64(1)
        self._signatures = np.zeros((INITIAL_CAPACITY, num_hashes), np.uint16)
        self._tables: list[Array] = []  # of indexed documents, the largest first: see `_flush_buffer`
        self.count = self._indexed_count = 0

    def add(self, words: Sequence[str]) -> bool:
        """Whether the document has no near-duplicate so far; such a document is added to the index."""
        signature = self._hasher.signature(words)
        if self._is_near_duplicate(signature):
            return False
        if self.count == len(self._signatures):
            self._signatures = np.concatenate([self._signatures, np.zeros_like(self._signatures)])
        self._signatures[self.count] = signature
        self.count += 1
        if self.count - self._indexed_count >= BUFFER:
            self._flush_buffer()
        return True

    def _is_near_duplicate(self, signature: Array) -> bool:
        """Compares with the buffered documents, and with the indexed ones that share a band, each once."""
        buffered = self._signatures[self._indexed_count : self.count]
        return self._any_similar(buffered, signature) or self._any_similar(self._candidates(signature), signature)

    def _any_similar(self, signatures: Array, signature: Array) -> bool:
        return bool((np.count_nonzero(signatures == signature, axis=1) >= self._min_equal).any())

    def _candidates(self, signature: Array) -> Array:
        """(candidates, hashes) the signatures that share a band with this one."""
        low = self._band_keys(signature[None])
        bounds = np.concatenate([low, low | _DOCUMENT])  # no document has the last number
        matches: list[Array] = []
        for table in self._tables:
            starts, ends = table.searchsorted(bounds)
            matches += [table[starts[band] : ends[band]] for band in np.flatnonzero(ends > starts)]
        return self._signatures[np.unique(np.concatenate(matches) & _DOCUMENT)] if matches else self._signatures[:0]

    def _band_keys(self, signatures: Array) -> Array:
        """(documents, bands) a 32-bit hash of each band, in the upper half."""
        banded = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        return _splitmix64((banded * self._band_multipliers).sum(axis=2, dtype=np.uint64)) & ~_DOCUMENT

    def _flush_buffer(self) -> None:
        """Moves the buffered documents into a table of sorted band keys, each with its document in the lower half.

        Tables of similar size are merged (log-structured), so that there are few and each key is sorted rarely."""
        documents = np.arange(self._indexed_count, self.count, dtype=np.uint64)
        keys = self._band_keys(self._signatures[self._indexed_count : self.count]) | documents[:, None]
        table = np.sort(keys, axis=None)
        while self._tables and len(self._tables[-1]) <= 4 * len(table):
            table = np.sort(np.concatenate([self._tables.pop(), table]))
        self._tables.append(table)
        self._indexed_count = self.count


def choose_bands(threshold: float, num_hashes: int = HASHES) -> tuple[int, int]:
    """Bands and rows per band: the most rows that find a pair at the threshold with CANDIDATE_PROBABILITY."""
    for rows in range(num_hashes, 1, -1):
        bands = num_hashes // rows
        if 1 - (1 - threshold**rows) ** bands >= CANDIDATE_PROBABILITY:
            return bands, rows
    return num_hashes, 1


def estimate_jaccard(first: Array, second: Array) -> float:
    """The Jaccard similarity estimated from two signatures."""
    return float((first == second).mean())


def _splitmix64(numbers: Array) -> Array:
    """The finaliser of SplitMix64 (Steele et al. 2014), which mixes each 64-bit number."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
