"""The features of words in their sentences as rows of a sparse matrix.

A template names attributes of words at some distances, such as the suffix of this word, or the forms of this word and
of the one before; each combination of their values is a feature. Attributes are computed once for each different word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from firth.embeddings.word_table import WordTable
from firth.linear.word_attributes import attributes, split_given

Template = tuple[tuple[str, int], ...]  # attributes and distances
EDGE = 1  # the number of the value beyond the ends of a sentence; of no value or an unknown one: 0


def templates(window: int, affixes: int, given: int = 0) -> tuple[Template, ...]:
    """Forms and casing of the words around, affixes and shapes of the nearest, pairs of neighbours; given tags of the
    words around, by themselves and as bigrams and trigrams (as in Sha and Pereira 2003)."""
    around = range(-window, window + 1)
    near = [distance for distance in (-1, 0, 1) if abs(distance) <= window]
    sizes = range(1, affixes + 1)
    single = [
        *((name, distance) for name in ("lower", "short-shape", "casing") for distance in around),
        *((name, distance) for name in ("word", "shape") for distance in near),
        *((f"{kind}-{size}", 0) for kind in ("prefix", "suffix") for size in sizes),
        *((f"suffix-{size}", distance) for size in sizes if size > 1 for distance in near if distance),
    ]
    pairs = [(name, distance, distance + 1) for name in ("lower", "short-shape", "suffix-3") for distance in near[:-1]]
    known = {name for name, _ in single}
    double = [((name, left), (name, right)) for name, left, right in pairs if name in known]
    runs = [
        tuple((f"given-{number}", distance) for distance in range(first, first + size))
        for number in range(1, given + 1)
        for size in (1, 2, 3)
        for first in range(-window, window + 2 - size)
    ]
    return (*(((name, distance),) for name, distance in single), *double, *runs)


@dataclass(frozen=True, eq=False)
class TagFeatures:
    """The features of the training sentences."""

    templates: tuple[Template, ...]
    values: Mapping[str, WordTable]  # of each attribute those of the training words
    keys: tuple[np.ndarray, ...]  # int64, of each template: the combinations that are features, ascending
    affixes: int
    given: int  # tags that are given with each word

    @classmethod
    def fit(
        cls, sentences: Sequence[Sequence[str]], window: int, affixes: int, least: int, given: int = 0
    ) -> TagFeatures:
        """The combinations that occur at least so often in the training sentences."""
        functions, wanted = attributes(affixes, given), templates(window, affixes, given)
        words = list(dict.fromkeys(chain.from_iterable(sentences)))
        names = dict.fromkeys(name for template in wanted for name, _ in template)
        values = {name: WordTable.of(dict.fromkeys(filter(None, map(functions[name], words)))) for name in names}
        empty = cls(wanted, values, (), affixes, given)
        keys = []
        for column in empty._columns(sentences):
            different, counts = np.unique(column[column >= 0], return_counts=True)
            keys.append(different[counts >= least])
        return cls(wanted, values, tuple(keys), affixes, given)

    @property
    def size(self) -> int:
        """The number of features."""
        return sum(map(len, self.keys))

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""
        return self.values["word"].find(split_given(word, self.given)[0]) >= 0

    def transform(self, sentences: Sequence[Sequence[str]]) -> csr_array:
        """The features of all words (words, features), float32."""
        rows, columns, first = [], [], 0
        for keys, column in zip(self.keys, self._columns(sentences), strict=True):
            places = np.minimum(np.searchsorted(keys, column), max(0, len(keys) - 1))
            known = np.flatnonzero((keys[places] == column) & (column >= 0)) if len(keys) else np.zeros(0, np.int64)
            rows.append(known)
            columns.append(first + places[known])
            first += len(keys)
        return _indicator(rows, columns, (sum(map(len, sentences)), self.size))

    def names(self) -> Iterator[str]:
        """The names of the features, in the order of the columns."""
        tables = {name: list(table) for name, table in self.values.items()}
        for template, keys in zip(self.templates, self.keys, strict=True):
            sizes = [len(tables[name]) + 2 for name, _ in template]
            for numbers in zip(*np.unravel_index(keys, sizes), strict=True):
                parts = zip(template, numbers, strict=True)
                yield " ".join(f"{name}[{at:+d}]={_value(tables[name], int(number))}" for (name, at), number in parts)

    def _columns(self, sentences: Sequence[Sequence[str]]) -> Iterator[np.ndarray]:
        """For each template the combination at each word, a number; -1: there is none, or one of its values is
        unknown."""
        words = list(chain.from_iterable(sentences))
        numbers: dict[str, int] = {}
        ids = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words))
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        place = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        after = np.repeat(lengths, lengths) - 1 - place
        values = {name: self._values(name, list(numbers))[ids] for name in self.values}
        for template in self.templates:
            parts = [_shifted(values[name], distance, place, after) for name, distance in template]
            sizes = [len(self.values[name]) + 2 for name, _ in template]
            column = np.ravel_multi_index(parts, sizes) if len(words) else np.zeros(0, np.int64)
            yield np.where(np.all(parts, axis=0), column, -1)

    def _values(self, name: str, words: Sequence[str]) -> np.ndarray:
        """The number of each word's value of an attribute; 0: none, or an unknown one."""
        function, known = self._functions[name], self._numbers[name]
        return np.fromiter((known.get(function(word), 0) for word in words), np.int64, len(words))

    @cached_property
    def _functions(self) -> Mapping[str, Any]:
        return attributes(self.affixes, self.given)

    @cached_property
    def _numbers(self) -> Mapping[str, Mapping[str, int]]:
        return {name: {value: at for at, value in enumerate(table, EDGE + 1)} for name, table in self.values.items()}

    # --- files ----------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        values = {f"values.{name}": np.frombuffer(table.blob, np.uint8) for name, table in self.values.items()}
        return {**values, "keys": np.concatenate(self.keys), "key_counts": np.array(list(map(len, self.keys)))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], window: int, affixes: int, given: int = 0) -> TagFeatures:
        """The inverse of `arrays`. ValueError or KeyError if they do not fit."""
        wanted, counts = templates(window, affixes, given), arrays["key_counts"]
        names = dict.fromkeys(name for template in wanted for name, _ in template)
        values = {name: WordTable(arrays[f"values.{name}"].tobytes()) for name in names}
        if len(counts) != len(wanted) or (counts < 0).any() or counts.sum() != len(arrays["keys"]):
            raise ValueError
        return cls(wanted, values, tuple(np.split(arrays["keys"], np.cumsum(counts)[:-1])), affixes, given)


def _shifted(values: np.ndarray, distance: int, place: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The values at a distance from each word; EDGE beyond the ends of its sentence."""
    inside = (place + distance >= 0) & (after - distance >= 0)
    return np.where(inside, np.roll(values, -distance), EDGE)


def _indicator(rows: Sequence[np.ndarray], columns: Sequence[np.ndarray], shape: tuple[int, int]) -> csr_array:
    """A matrix of ones."""
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(row, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))]).astype(np.int32)
    return csr_array((np.ones(len(row), np.float32), column[order].astype(np.int32), starts), shape=shape)


def _value(table: Sequence[str], number: int) -> str:
    return "(edge)" if number == EDGE else table[number - EDGE - 1]
