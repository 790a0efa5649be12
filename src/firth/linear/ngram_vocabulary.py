"""N-grams of sequences as columns of a matrix: each n-gram of the training texts has its own, or they are hashed.

Sequences are `units` (int64: tokens or characters, concatenated; negative ones are in no n-gram) and `starts` (int64,
with the end). An n-gram is known by its prefix and its last unit, so that all of one length are found at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import coo_array, csr_array

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # of the hash: odd, its bits mixed


class Occurrences(NamedTuple):
    """Where the n-grams of one length begin, and their columns."""

    length: int
    positions: np.ndarray
    columns: np.ndarray


class NgramColumns(Protocol):
    """What features need to know of n-grams."""

    @property
    def size(self) -> int:
        """The number of columns."""

    def occurrences(self, units: np.ndarray, starts: np.ndarray) -> Iterator[Occurrences]:
        """All n-grams of some sequences that have a column, length by length."""


def count_matrix(ngrams: NgramColumns, units: np.ndarray, starts: np.ndarray) -> csr_array:
    """How often each n-gram is in each sequence (sequences, columns), float32."""
    rows = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    occurring = list(ngrams.occurrences(units, starts))
    at_rows = np.concatenate([rows[each.positions] for each in occurring] or [rows[:0]])
    columns = np.concatenate([each.columns for each in occurring] or [rows[:0]]).astype(np.int32)
    shape = (len(starts) - 1, ngrams.size)
    return coo_array((np.ones(len(columns), np.float32), (at_rows, columns)), shape=shape).tocsr()


@dataclass(frozen=True, eq=False)
class NgramVocabulary:
    """The n-grams of the training sequences."""

    units: int  # there are so many different ones
    keys: tuple[np.ndarray, ...]  # int64, for each length, ascending: number of the prefix · units + last unit
    columns: tuple[np.ndarray, ...]  # int32: of each; -1: only a prefix of others

    @classmethod
    def fit(cls, units: np.ndarray, starts: np.ndarray, count: int, longest: int, shortest: int = 1) -> NgramVocabulary:
        """The n-grams of these sequences from the shortest to the longest; units are numbers below `count`."""
        keys: list[np.ndarray] = []
        numbers, room = np.zeros(len(units), np.int64), _room(starts)
        for length in range(1, longest + 1):
            candidates = _extend(numbers, units, room, length, count)
            known = candidates >= 0
            level, places = np.unique(candidates[known], return_inverse=True)
            keys.append(level)
            numbers = np.full(len(units), -1, np.int64)
            numbers[known] = places
        sizes = [len(level) * (length >= shortest) for length, level in enumerate(keys, 1)]
        firsts = np.cumsum([0, *sizes])
        columns = (
            np.arange(first, first + size, dtype=np.int32) if size else np.full(len(level), -1, np.int32)
            for first, size, level in zip(firsts, sizes, keys, strict=False)
        )
        return cls(count, tuple(keys), tuple(columns))

    @property
    def size(self) -> int:
        """The number of columns."""
        return sum(int((level >= 0).sum()) for level in self.columns)

    def occurrences(self, units: np.ndarray, starts: np.ndarray) -> Iterator[Occurrences]:
        """All n-grams of some sequences that have a column, length by length."""
        numbers, room = np.zeros(len(units), np.int64), _room(starts)
        for length, (keys, columns) in enumerate(zip(self.keys, self.columns, strict=True), 1):
            candidates = _extend(numbers, units, room, length, self.units)
            numbers = _find(keys, candidates)
            at = np.append(columns, -1)[numbers]  # number -1 is the last entry
            positions = np.flatnonzero(at >= 0)
            yield Occurrences(length, positions, at[positions])

    def spell(self, column: int) -> list[int]:
        """The units of a column's n-gram."""
        for length, columns in enumerate(self.columns, 1):
            (places,) = np.nonzero(columns == column)
            if len(places):
                return self._units(length, int(places[0]))
        raise IndexError(column)

    def _units(self, length: int, number: int) -> list[int]:
        units = []
        for level in reversed(self.keys[1:length]):
            number, unit = divmod(int(level[number]), self.units)
            units.append(unit)
        return [int(self.keys[0][number]), *reversed(units)]

    def select(self, kept: np.ndarray) -> NgramVocabulary:
        """Only the n-grams of these columns (a mask), renumbered in their order, and the prefixes that they need."""
        new = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        keys: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        needed = np.zeros(0, np.int64)  # numbers that longer n-grams have as their prefix
        for level, old in zip(reversed(self.keys), reversed(self.columns), strict=True):
            renumbered = new[old]
            stays = renumbered >= 0
            stays[needed] = True
            if keys:
                prefixes, units = np.divmod(keys[-1], self.units)
                keys[-1] = (np.cumsum(stays) - 1)[prefixes] * self.units + units
            keys.append(level[stays])
            columns.append(renumbered[stays])
            needed = np.unique(level[stays] // self.units)
        return NgramVocabulary(self.units, tuple(reversed(keys)), tuple(reversed(columns)))

    # --- files ----------------------------------------------------------------------------------------------------

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Everything, for a file."""
        return {f"{name}.keys": np.concatenate(self.keys), f"{name}.columns": np.concatenate(self.columns)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], name: str, units: int, sizes: Sequence[int]
    ) -> NgramVocabulary:
        """The inverse of `arrays`; `sizes` are the numbers of n-grams of each length. ValueError if they do not fit."""
        keys, columns = arrays[f"{name}.keys"], arrays[f"{name}.columns"]
        if not len(keys) == len(columns) == sum(sizes) or keys.dtype != np.int64 or columns.dtype != np.int32:
            raise ValueError
        borders = np.cumsum(sizes)[:-1]
        vocabulary = cls(units, tuple(np.split(keys, borders)), tuple(np.split(columns, borders)))
        vocabulary.check()
        return vocabulary

    def check(self) -> None:
        """ValueError if prefixes or columns are not what they must be."""
        numbers = np.sort(np.concatenate(self.columns)[np.concatenate(self.columns) >= 0])
        prefixes = [1, *(len(level) for level in self.keys)]
        valid = all(
            not len(level) or (level[0] >= 0 and level[-1] < count * self.units and (np.diff(level) > 0).all())
            for level, count in zip(self.keys, prefixes, strict=False)
        )
        if not valid or not np.array_equal(numbers, np.arange(len(numbers))):
            raise ValueError


@dataclass(frozen=True)
class HashedNgrams:
    """N-grams hashed into buckets (Weinberger et al. 2009)."""

    buckets: int
    longest: int
    shortest: int = 1

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.buckets

    def occurrences(self, units: np.ndarray, starts: np.ndarray) -> Iterator[Occurrences]:
        """All n-grams of some sequences, length by length."""
        hashes, room = np.zeros(len(units), np.uint64), _room(starts)
        known = np.ones(len(units), bool)
        for length in range(1, self.longest + 1):
            last = units[length - 1 :]
            known = known[: len(last)] & (room[: len(last)] >= length) & (last >= 0)
            with np.errstate(over="ignore"):
                hashes = (hashes[: len(last)] ^ (last.astype(np.uint64) + np.uint64(1))) * _MULTIPLIER
                hashes ^= hashes >> np.uint64(29)
            if length >= self.shortest:
                positions = np.flatnonzero(known)
                yield Occurrences(length, positions, (hashes[positions] % np.uint64(self.buckets)).astype(np.int32))


def _room(starts: np.ndarray) -> np.ndarray:
    """For each position how many units there are from it to the end of its sequence."""
    ends = np.repeat(starts[1:], np.diff(starts))
    return ends - np.arange(len(ends))


def _extend(numbers: np.ndarray, units: np.ndarray, room: np.ndarray, length: int, count: int) -> np.ndarray:
    """The keys of the n-grams of this length that begin at each position, from the numbers of their prefixes; -1:
    none."""
    keys = np.full(len(units), -1, np.int64)
    last = units[length - 1 :]
    prefixes = numbers[: len(last)]
    whole = (room[: len(last)] >= length) & (prefixes >= 0) & (last >= 0)
    keys[: len(last)][whole] = prefixes[whole] * count + last[whole]
    return keys


def _find(keys: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The places of candidates among ascending keys; -1: not there."""
    if not len(keys):
        return np.full(len(candidates), -1, np.int64)
    places = np.minimum(np.searchsorted(keys, candidates), len(keys) - 1)
    return np.where(keys[places] == candidates, places, -1)
