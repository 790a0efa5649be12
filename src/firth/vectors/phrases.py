"""Phrases: words that stand together far more often than chance would have it become one (Mikolov et al. 2013b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.counts import cooccurrence
from firth.counts.compiled import kernel
from firth.errors import FirthError
from firth.vectors import cells
from firth.vectors.corpus import BLOCK, Corpus
from firth.vectors.kernels import END, NONE

MARK = "_"  # between the words of a phrase
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Phrases:
    """The pairs that each round joins, and the words that have rows afterwards, in their order."""

    rounds: tuple[Pairs, ...]
    words: tuple[str, ...]

    def apply(self, corpus: Corpus, folder: Path | None = None) -> Corpus:
        """The corpus with its phrases joined, also another than they were learned from; its rows are those of `words`.

        Tokens get numbers of their own, not a tokenizer's. With a folder, they are in a file there, memory-mapped.
        """
        text = _Text(corpus, folder)
        for pairs in self.rounds:
            text.join(pairs)
        return text.corpus(self.words)

    def values(self) -> list[list[list[str]]]:
        """The pairs as JSON values; the words are those of the vectors."""
        return [[list(pair) for pair in pairs] for pairs in self.rounds]

    @classmethod
    def of(cls, values: Any, words: Sequence[str], where: object = "phrases") -> Phrases:
        """The phrases of such values and the words of their vectors."""
        rounds = values if isinstance(values, list) else [None]
        if not all(isinstance(pairs, list) and all(map(_is_pair, pairs)) for pairs in rounds):
            raise FirthError("not phrases: lists of pairs of words", where=where, do="train the vectors again")
        return cls(tuple(tuple((a, b) for a, b in pairs) for pairs in rounds), tuple(words))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(word, str) for word in value)


def learn(corpus: Corpus, config: schema.Phrases, min_count: int = 1, folder: Path | None = None) -> Phrases:
    """The phrases of a corpus, round by round; words and phrases left fewer than `min_count` times lose their row."""
    text, rounds = _Text(corpus, folder), []
    for _ in range(config.rounds):
        pairs = text.pairs(config.least, config.threshold)
        if not pairs:
            break
        rounds.append(pairs)
        text.join(pairs)
    counts = text.counts()
    chosen = np.flatnonzero(counts >= max(min_count, 1))
    if not len(chosen):
        do = "lower min_count, or give more text"
        raise FirthError(f"no word occurs {min_count} times or more", where="phrases", do=do)
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    return Phrases(tuple(rounds), tuple(text.names[number] for number in chosen))


class _Text:
    """A corpus while its words are being joined: numbers of words, to which phrases add new ones; below 0 none."""

    def __init__(self, corpus: Corpus, folder: Path | None) -> None:
        self.ids, self.starts = cells.rows(corpus, folder), np.array(corpus.starts, np.int64)
        self.names = list(corpus.words)
        self.numbers = {name: number for number, name in enumerate(self.names)}

    def counts(self) -> np.ndarray:
        """How often each number occurs."""
        found = np.zeros(len(self.names), np.int64)
        for begin in range(0, len(self.ids), BLOCK):
            ids = self.ids[begin : begin + BLOCK]
            found += np.bincount(ids[ids >= 0], minlength=len(found))
        return found

    def pairs(self, least: int, threshold: float) -> Pairs:
        """Neighbours with (count(ab) − least) / (count(a) · count(b)) · N > threshold.

        N is the number of different words and pairs, as in gensim, so that thresholds mean the same.
        """
        options = {"window": 1, "side": "right", "precision": np.float64}
        near, counts = cooccurrence.cells(self.ids, self.starts, len(self.names), **options), self.counts()
        chance = counts[near.rows].astype(np.float64) * counts[near.cols]
        scores = (near.weights - least) / chance * (np.count_nonzero(counts) + len(near))
        chosen = np.flatnonzero(scores > threshold)
        return tuple((self.names[a], self.names[b]) for a, b in zip(near.rows[chosen], near.cols[chosen], strict=True))

    def join(self, pairs: Pairs) -> None:
        """Join them wherever they stand, from the left; pairs of words that this text does not have do not matter."""
        known = [pair for pair in pairs if pair[0] in self.numbers and pair[1] in self.numbers]
        table = sorted((self.numbers[a], self.numbers[b], self._number(f"{a}{MARK}{b}")) for a, b in known)
        lefts, rights, joined = np.array(table, np.int32).reshape(-1, 3).T.copy()
        first = np.searchsorted(lefts, np.arange(len(self.names) + 1))
        self.ids = self.ids[: _join(self.ids, self.starts, first, rights, joined)]

    def _number(self, name: str) -> int:
        """That of a name; a new one if there is no such word yet."""
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]

    def corpus(self, words: Sequence[str]) -> Corpus:
        """The text as it is now, with rows for these words; it cannot be joined any more."""
        size, counts = len(self.names), self.counts()
        numbers = np.array([self.numbers.get(word, size) for word in words], np.int64)  # size: not in this text
        row_of = np.full(size + 2, NONE, np.int32)
        row_of[numbers] = np.arange(len(words))
        row_of[size:] = END, NONE
        for begin in range(0, len(self.ids), BLOCK):  # a token cannot be below 0
            ids = self.ids[begin : begin + BLOCK]
            ids[ids == END], ids[ids == NONE] = size, size + 1
        return Corpus(self.ids.view(np.uint32), self.starts, row_of, list(words), np.append(counts, 0)[numbers])


@kernel
def _join(ids, starts, first, rights, joined):
    """Join pairs in place, also move the documents' starts; how many numbers are left.

    The pairs of number n are those from first[n] to first[n + 1], sorted by the number on their right.
    """
    place, size = starts[0], 0
    for document in range(len(starts) - 1):
        stop = starts[document + 1]
        while place < stop:
            number = ids[place]
            place += 1
            if number >= 0 and place < stop:
                low, high = first[number], first[number + 1]
                while low < high:
                    middle = (low + high) // 2
                    if rights[middle] < ids[place]:
                        low = middle + 1
                    else:
                        high = middle
                if low < first[number + 1] and rights[low] == ids[place]:
                    number = joined[low]
                    place += 1
            ids[size] = number
            size += 1
        starts[document + 1] = size
    return size
