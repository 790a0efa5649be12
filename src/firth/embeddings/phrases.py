"""Phrase detection: bigrams that occur together far more often than by chance become one word (Mikolov et al. 2013b),
as in gensim's Phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.embeddings import cooccurrence, cooccurrence_files
from firth.embeddings.training_text import BLOCK, Corpus
from firth.embeddings.word2vec_kernels import END, NONE
from firth.errors import FirthError
from firth.jit import kernel

DELIMITER = "_"  # between the words of a phrase
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Phrases:
    """The bigrams that each pass joins, and the vocabulary afterwards, in the order of the rows."""

    passes: tuple[Pairs, ...]
    words: tuple[str, ...]

    def apply(self, corpus: Corpus, folder: Path | None = None) -> Corpus:
        """The corpus with its phrases joined, also one they were not learned from; its rows are those of `words`.

        Tokens get ids of their own, not a tokenizer's. With a folder, they are in a memory-mapped file there.
        """
        text = _PhraseText(corpus, folder)
        for pairs in self.passes:
            text.join(pairs)
        return text.corpus(self.words)

    def to_json(self) -> list[list[list[str]]]:
        """The pairs as JSON values; the words are those of the vectors."""
        return [[list(pair) for pair in pairs] for pairs in self.passes]

    @classmethod
    def from_json(cls, values: Any, words: Sequence[str], where: object = "phrases") -> Phrases:
        """The inverse of `to_json`, with the words of the vectors."""
        passes = values if isinstance(values, list) else [None]
        if not all(isinstance(pairs, list) and all(map(_is_pair, pairs)) for pairs in passes):
            raise FirthError("not phrases: expected lists of word pairs", where=where, do="train the vectors again")
        return cls(tuple(tuple((a, b) for a, b in pairs) for pairs in passes), tuple(words))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(word, str) for word in value)


def learn(corpus: Corpus, config: schema.Phrases, min_count: int = 1, folder: Path | None = None) -> Phrases:
    """Learn the phrases of a corpus, pass by pass; words and phrases with fewer than `min_count` occurrences left lose
    their row."""
    text, passes = _PhraseText(corpus, folder), []
    for _ in range(config.passes):
        pairs = text.find_pairs(config.min_count, config.threshold)
        if not pairs:
            break
        passes.append(pairs)
        text.join(pairs)
    counts = text.counts()
    chosen = np.flatnonzero(counts >= max(min_count, 1))
    if not len(chosen):
        do = "lower min_count, or give more text"
        raise FirthError(f"no word occurs {min_count} times or more", where="phrases", do=do)
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    return Phrases(tuple(passes), tuple(text.names[index] for index in chosen))


class _PhraseText:
    """A corpus while its words are being joined: word ids, extended by those of phrases; negative: no word."""

    def __init__(self, corpus: Corpus, folder: Path | None) -> None:
        self.ids, self.starts = cooccurrence_files.token_rows(corpus, folder), np.array(corpus.starts, np.int64)
        self.names = list(corpus.words)
        self.id_of = {name: index for index, name in enumerate(self.names)}

    def counts(self) -> np.ndarray:
        """The count of each word."""
        counts = np.zeros(len(self.names), np.int64)
        for begin in range(0, len(self.ids), BLOCK):
            ids = self.ids[begin : begin + BLOCK]
            counts += np.bincount(ids[ids >= 0], minlength=len(counts))
        return counts

    def find_pairs(self, min_count: int, threshold: float) -> Pairs:
        """Bigrams ab with (count(ab) − min_count) / (count(a) · count(b)) · N > threshold.

        N is the number of unique words and bigrams, as in gensim, so that thresholds mean the same.
        """
        bigrams = cooccurrence.count_cooccurrences(
            self.ids, self.starts, len(self.names), window=1, context="right", dtype=np.float64
        )
        counts = self.counts()
        expected = counts[bigrams.rows].astype(np.float64) * counts[bigrams.cols]
        scores = (bigrams.weights - min_count) / expected * (np.count_nonzero(counts) + len(bigrams))
        chosen = np.flatnonzero(scores > threshold)
        pairs = zip(bigrams.rows[chosen], bigrams.cols[chosen], strict=True)
        return tuple((self.names[a], self.names[b]) for a, b in pairs)

    def join(self, pairs: Pairs) -> None:
        """Join these bigrams wherever they occur, from the left; those with words not in this text are ignored."""
        known = [pair for pair in pairs if pair[0] in self.id_of and pair[1] in self.id_of]
        table = sorted((self.id_of[a], self.id_of[b], self._add_word(f"{a}{DELIMITER}{b}")) for a, b in known)
        lefts, rights, joined = np.array(table, np.int32).reshape(-1, 3).T.copy()
        first = np.searchsorted(lefts, np.arange(len(self.names) + 1))
        self.ids = self.ids[: _join(self.ids, self.starts, first, rights, joined)]

    def _add_word(self, name: str) -> int:
        """The id of a word; a new one if it has none."""
        if name not in self.id_of:
            self.id_of[name] = len(self.names)
            self.names.append(name)
        return self.id_of[name]

    def corpus(self, words: Sequence[str]) -> Corpus:
        """The text in its current state, with rows for these words; it cannot be joined any more."""
        size, counts = len(self.names), self.counts()
        word_ids = np.array([self.id_of.get(word, size) for word in words], np.int64)  # size: not in this text
        row_of = np.full(size + 2, NONE, np.int32)
        row_of[word_ids] = np.arange(len(words))
        row_of[size:] = END, NONE
        for begin in range(0, len(self.ids), BLOCK):  # tokens cannot be negative
            ids = self.ids[begin : begin + BLOCK]
            ids[ids == END], ids[ids == NONE] = size, size + 1
        return Corpus(self.ids.view(np.uint32), self.starts, row_of, list(words), np.append(counts, 0)[word_ids])


@kernel
def _join(ids, starts, first, rights, joined):
    """Join bigrams in place and update the documents' starts; returns how many tokens are left.

    The bigrams that start with word n are first[n] to first[n + 1], sorted by their second word.
    """
    position, size = starts[0], 0
    for document in range(len(starts) - 1):
        stop = starts[document + 1]
        while position < stop:
            word = ids[position]
            position += 1
            if word >= 0 and position < stop:
                low, high = first[word], first[word + 1]
                while low < high:
                    middle = (low + high) // 2
                    if rights[middle] < ids[position]:
                        low = middle + 1
                    else:
                        high = middle
                if low < first[word + 1] and rights[low] == ids[position]:
                    word = joined[low]
                    position += 1
            ids[size] = word
            size += 1
        starts[document + 1] = size
    return size
