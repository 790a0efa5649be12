"""Near-duplicates by MinHash (Broder 1997): signatures, bands that find candidates, and the check of each candidate.

A document is the set of its runs of words (shingles). The share of equal places in two signatures estimates the
Jaccard similarity of two such sets. Only signatures are kept, never texts: half a kilobyte to one for a document.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from firth.errors import FirthError

HASHES = 128  # places of a signature; the standard error of an estimate is at most 0.5 / sqrt(128) = 0.044
FOUND = 0.99  # the probability with which a pair right at the threshold becomes a candidate
FIRST = 1024  # documents there is room for at first
BLOCK = 4096  # shingles hashed at once: bounds the memory a long document takes

Array = np.ndarray


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
        self._band = np.arange(self.bands)
        self._row_times = _mixed(np.arange(1, self.rows + 1, dtype=np.uint64)) | np.uint64(1)
        self._signatures = np.zeros((FIRST, hashes), np.uint16)
        self.count = 0
        self._index()

    def add(self, words: Sequence[str]) -> bool:
        """Whether the document is new; a new one is remembered."""
        signature = self._signer.sign(words)
        slots = self._slots(signature[None])[0]
        if self._is_near(signature, slots):
            return False
        if self.count == len(self._signatures):
            self._grow()
            slots = self._slots(signature[None])[0]
        self._signatures[self.count] = signature
        self._before[self.count] = self._last[self._band, slots]
        self._last[self._band, slots] = self.count
        self.count += 1
        return True

    def _is_near(self, signature: Array, slots: Array) -> bool:
        """Follows the chains of all bands side by side and checks every document on them."""
        bands, here = self._band, self._last[self._band, slots]
        while (on := here >= 0).any():
            bands, here = bands[on], here[on]
            if ((self._signatures[here] == signature).sum(axis=1) >= self._enough).any():
                return True
            here = self._before[here, bands]
        return False

    def _slots(self, signatures: Array) -> Array:
        """(documents, bands) where in its band's table a signature belongs."""
        used = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        keys = _mixed((used * self._row_times).sum(axis=2, dtype=np.uint64))
        return (keys & np.uint64(self._last.shape[1] - 1)).astype(np.int64)

    def _grow(self) -> None:
        self._signatures = np.concatenate([self._signatures, np.zeros_like(self._signatures)])
        self._index()

    def _index(self) -> None:
        """Tables twice as long as the room for documents: the last document of each slot, and the one before each."""
        room = len(self._signatures)
        self._last = np.full((self.bands, 2 * room), -1, np.int32)
        self._before = np.full((room, self.bands), -1, np.int32)
        for start in range(0, self.count, FIRST):
            slots = self._slots(self._signatures[start : min(start + FIRST, self.count)])
            for document, row in enumerate(slots, start):
                self._before[document] = self._last[self._band, row]
                self._last[self._band, row] = document


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
