"""Near-duplicates by MinHash (Broder 1997): signatures, bands that find candidates, and the check of each candidate.

A document is the set of its runs of words (shingles). The share of equal places in two signatures estimates the
Jaccard similarity of two such sets. Only signatures are kept, never texts: half a kilobyte to one for a document.
A document is compared with every document it shares a band with: where all share some, the time is quadratic.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from firth.errors import FirthError

HASHES = 128  # places of a signature; the standard error of an estimate is at most 0.5 / sqrt(128) = 0.044
FOUND = 0.99  # the probability with which a pair right at the threshold becomes a candidate
FIRST = 1024  # documents there is room for at first
NEWEST = 128  # documents that are compared one and all, before they are put in order
BLOCK = 4096  # shingles hashed at once: bounds the memory a long document takes

Array = np.ndarray
_DOCUMENT = np.uint64(0xFFFFFFFF)


class Signer:
    """Words to signatures; the same words and seed give the same signature on every machine."""

    def __init__(self, shingle: int = 5, hashes: int = HASHES, seed: int = 1) -> None:
        if shingle < 1 or hashes < 1:
            raise FirthError("shingles have at least one word and signatures one place", where="near-duplicates")
        numbers = _mixed(np.arange(shingle + 2 * hashes, dtype=np.uint64) + _mixed(np.uint64([seed])))
        self.shingle, self.hashes = shingle, hashes
        self._places = numbers[:shingle] | np.uint64(1)
        times, plus = numbers[shingle:].astype(np.uint32).reshape(2, hashes, 1)
        self._times, self._plus = times | np.uint32(1), plus

    def shingles(self, words: Sequence[str]) -> Array:
        """A number for each run of words; a text shorter than a run is one run. There must be a word."""
        codes = np.fromiter((crc32(word.encode()) for word in words), np.uint64, len(words))
        size = min(self.shingle, len(codes))
        count = len(codes) - size + 1
        total = np.full(count, size, np.uint64)
        for place in range(size):
            total += codes[place : place + count] * self._places[place]
        return _mixed(total).astype(np.uint32)  # arithmetic on 32 bits is ten times as fast as on 64

    def sign(self, words: Sequence[str]) -> Array:
        """(hashes,) the low 16 bits of the smallest shingle under each of the hash functions."""
        shingles = self.shingles(words)
        least = np.full(len(self._times), 0xFFFFFFFF, np.uint32)
        for start in range(0, len(shingles), BLOCK):
            hashed = shingles[start : start + BLOCK] * self._times  # (hashes, shingles), modulo 2^32
            hashed += self._plus
            np.minimum(least, hashed.min(axis=1), out=least)
        return least.astype(np.uint16)


class Seen:
    """The documents met so far, to be asked whether a new one is nearly one of them."""

    def __init__(self, threshold: float, signer: Signer) -> None:
        if not 0 < threshold <= 1:
            raise FirthError(f"the similarity {threshold:g} is not in (0, 1]", where="near-duplicates", do="try 0.8")
        self._signer, hashes = signer, signer.hashes
        self._enough = int(np.ceil(threshold * hashes - 1e-9))  # equal places
        self.bands, self.rows = banding(threshold, hashes)
        self._times = _mixed(np.arange(self.bands * self.rows, dtype=np.uint64)).reshape(self.bands, -1) | np.uint64(1)
        self._signatures = np.zeros((FIRST, hashes), np.uint16)
        self._tables: list[Array] = []  # of ordered documents, the largest first: see `_order`
        self.count = self._ordered_count = 0

    def add(self, words: Sequence[str]) -> bool:
        """Whether the document is new; a new one is remembered."""
        signature = self._signer.sign(words)
        if self._is_near(signature):
            return False
        if self.count == len(self._signatures):
            self._signatures = np.concatenate([self._signatures, np.zeros_like(self._signatures)])
        self._signatures[self.count] = signature
        self.count += 1
        if self.count - self._ordered_count >= NEWEST:
            self._order()
        return True

    def _is_near(self, signature: Array) -> bool:
        """Compares with the newest documents, and of the others with those that share a band, each once."""
        newest = self._signatures[self._ordered_count : self.count]
        return self._any_near(newest, signature) or self._any_near(self._candidates(signature), signature)

    def _any_near(self, signatures: Array, signature: Array) -> bool:
        return bool((np.count_nonzero(signatures == signature, axis=1) >= self._enough).any())

    def _candidates(self, signature: Array) -> Array:
        """(candidates, hashes) the signatures that share a band with this one."""
        low = self._keys(signature[None])
        bounds = np.concatenate([low, low | _DOCUMENT])  # no document has the last number
        found: list[Array] = []
        for table in self._tables:
            starts, ends = table.searchsorted(bounds)
            found += [table[starts[band] : ends[band]] for band in np.flatnonzero(ends > starts)]
        return self._signatures[np.unique(np.concatenate(found) & _DOCUMENT)] if found else self._signatures[:0]

    def _keys(self, signatures: Array) -> Array:
        """(documents, bands) 32 bits for each band, in the upper half."""
        used = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        return _mixed((used * self._times).sum(axis=2, dtype=np.uint64)) & ~_DOCUMENT

    def _order(self) -> None:
        """Puts the newest into a table of their own: sorted keys, each with its document in the lower half.

        Tables of about one size are made one, so that there are few of them and no key is sorted often."""
        documents = np.arange(self._ordered_count, self.count, dtype=np.uint64)
        keys = self._keys(self._signatures[self._ordered_count : self.count]) | documents[:, None]
        table = np.sort(keys, axis=None)
        while self._tables and len(self._tables[-1]) <= 4 * len(table):
            table = np.sort(np.concatenate([self._tables.pop(), table]))
        self._tables.append(table)
        self._ordered_count = self.count


def banding(threshold: float, hashes: int = HASHES) -> tuple[int, int]:
    """Bands and rows: as many rows as still make a pair at the threshold a candidate with probability FOUND."""
    for rows in range(hashes, 1, -1):
        bands = hashes // rows
        if 1 - (1 - threshold**rows) ** bands >= FOUND:
            return bands, rows
    return hashes, 1


def estimate(first: Array, second: Array) -> float:
    """The Jaccard similarity that two signatures tell."""
    return float((first == second).mean())


def _mixed(numbers: Array) -> Array:
    """Each 64-bit number well stirred (the finaliser of SplitMix64, Steele et al. 2014)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
