"""Which tags a word has: those that it had in training, and for rare and unknown words those of words that end alike
(Brants 2000)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from firth.embeddings import array_bundle
from firth.embeddings.word_table import WordTable

CAPITALISED = "\x01", "\x00"  # before a suffix: its word is capitalised, or not


@dataclass(frozen=True, eq=False)
class TagLexicon:
    """Counts of tags: of each word, and of each suffix of the rare ones."""

    words: WordTable
    counts: csr_array  # (words, tags)
    suffixes: WordTable  # after one of CAPITALISED
    suffix_counts: csr_array  # (suffixes, tags)
    tag_counts: np.ndarray  # (tags,)
    suffix_length: int  # characters of the longest suffix
    smoothing: float  # how often each word is thought to have been seen with the tags of its suffix

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[int]],
        count: int,
        suffix_length: int,
        rare: int,
        smoothing: float,
    ) -> TagLexicon:
        """The lexicon of tagged sentences, tags being numbers below `count`; suffixes are of words that occur at most
        `rare` times."""
        pairs = Counter(
            (w, t) for words, row in zip(sentences, tags, strict=True) for w, t in zip(words, row, strict=True)
        )
        words, counts = _table(pairs, count)
        total = counts.sum(1)
        of_suffix: Counter[tuple[str, int]] = Counter()
        frequency = dict(zip(words, total.tolist(), strict=True))
        for (word, tag), times in pairs.items():
            if frequency[word] <= rare:
                of_suffix.update(dict.fromkeys(((suffix, tag) for suffix in _suffixes(word, suffix_length)), times))
        tag_counts = np.asarray(counts.sum(0), np.float64)
        return cls(WordTable.of(words), counts, *_tables(of_suffix, count), tag_counts, suffix_length, smoothing)

    @property
    def tags(self) -> int:
        """The number of tags."""
        return len(self.tag_counts)

    @cached_property
    def log_priors(self) -> np.ndarray:
        """The logarithm of each tag's share of the training words (tags,)."""
        return np.log(self.tag_counts / self.tag_counts.sum())

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""
        return self.words.find(word) >= 0

    def log_probabilities(self, words: Sequence[str]) -> np.ndarray:
        """The logarithm of p(tag | word) (words, tags), by word and suffix."""
        different = {word: number for number, word in enumerate(dict.fromkeys(words))}
        rows = np.stack([self._probabilities(word) for word in different]) if words else np.zeros((0, self.tags))
        with np.errstate(divide="ignore"):
            return np.log(rows)[[different[word] for word in words]]

    def _probabilities(self, word: str) -> np.ndarray:
        number = self.words.find(word)
        if number < 0:
            return self._by_suffix(word)
        counts = _row(self.counts, number)
        if not self.smoothing:
            return counts / counts.sum()
        return (counts + self.smoothing * self._by_suffix(word)) / (counts.sum() + self.smoothing)

    def _by_suffix(self, word: str) -> np.ndarray:
        """p(tag | suffix), from the shortest suffix to the longest that is known, each smoothed by the one before."""
        probabilities = self._shortest
        for suffix in _suffixes(word, self.suffix_length):
            number = self.suffixes.find(suffix)
            if number < 0:
                break
            counts = _row(self.suffix_counts, number)
            probabilities = (counts / counts.sum() + self._theta * probabilities) / (1 + self._theta)
        return probabilities

    @cached_property
    def _shortest(self) -> np.ndarray:
        return self.tag_counts / self.tag_counts.sum()

    @cached_property
    def _theta(self) -> float:
        """The weight of the shorter suffix: the standard deviation of the tags' probabilities."""
        return float(np.std(self._shortest, ddof=1)) if self.tags > 1 else 1.0

    # --- files ----------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything but two numbers, for a file."""
        tables = {"words": self.words, "suffixes": self.suffixes}
        arrays = {name: np.frombuffer(table.blob, np.uint8) for name, table in tables.items()}
        for name, counts in (("word_tags", self.counts), ("suffix_tags", self.suffix_counts)):
            arrays |= {f"{name}.{part}": getattr(counts, part) for part in ("data", "indices", "indptr")}
        return {**arrays, "tag_counts": self.tag_counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], suffix_length: int, smoothing: float) -> TagLexicon:
        """The inverse of `arrays`. ValueError or KeyError if they do not fit."""
        tag_counts, tables = arrays["tag_counts"], []
        for table, name in (("words", "word_tags"), ("suffixes", "suffix_tags")):
            words = WordTable(arrays[table].tobytes())
            parts = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
            counts = array_bundle.sparse_rows(*parts, (len(words), len(tag_counts)))
            if not (counts.data > 0).all() or not (np.diff(counts.indptr) > 0).all():
                raise ValueError
            tables += [words, counts]
        if tag_counts.ndim != 1 or not (tag_counts > 0).all():
            raise ValueError
        return cls(*tables, tag_counts, suffix_length, smoothing)


def _suffixes(word: str, longest: int) -> list[str]:
    """The suffixes of a word from the empty one on, after the mark of its case."""
    case = CAPITALISED[not word[:1].isupper()]
    return [case + word[len(word) - size :] for size in range(min(longest, len(word)) + 1)]


def _table(pairs: Mapping[tuple[str, int], int], count: int) -> tuple[list[str], csr_array]:
    """Words and how often each has each tag (words, tags)."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for word, _ in pairs))}
    rows = np.fromiter((numbers[word] for word, _ in pairs), np.int32, len(pairs))
    columns = np.fromiter((tag for _, tag in pairs), np.int32, len(pairs))
    times = np.fromiter(pairs.values(), np.float32, len(pairs))
    return list(numbers), csr_array((times, (rows, columns)), shape=(len(numbers), count))


def _tables(pairs: Mapping[tuple[str, int], int], count: int) -> tuple[WordTable, csr_array]:
    words, counts = _table(pairs, count)
    return WordTable.of(words), counts


def _row(matrix: csr_array, number: int) -> np.ndarray:
    """A row as a dense float64 vector."""
    part = slice(matrix.indptr[number], matrix.indptr[number + 1])
    row = np.zeros(matrix.shape[1])
    row[matrix.indices[part]] = matrix.data[part]
    return row
