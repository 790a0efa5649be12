"""Text for word vectors: tokens of the token cache, and which of them are words with a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firth.data.cache import Split
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.vectors.kernels import END, NONE
from firth.vectors.store import WordVectors

BLOCK = 1 << 22  # tokens counted at once


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents one after the other; each token has a row of the vectors, or none, or ends a document."""

    tokens: np.ndarray  # memory-mapped
    starts: np.ndarray  # (documents + 1,)
    row_of: np.ndarray  # (vocabulary,) int32
    words: Sequence[str]  # in the order of the rows
    counts: np.ndarray  # (rows,) int64

    @property
    def size(self) -> int:
        """How many words the text has, with those that have no row."""
        return len(self.tokens) - (len(self.starts) - 1)


def read(split: Split, tokenizer: Tokenizer, least: int = 1) -> Corpus:
    """The corpus of a split; special tokens and words that occur fewer than `least` times get no vector."""
    counts = np.zeros(tokenizer.size, np.int64)
    for begin in range(0, len(split.ids), BLOCK):
        counts += np.bincount(split.ids[begin : begin + BLOCK], minlength=tokenizer.size)
    special = {token for token in vars(tokenizer.special).values() if token is not None}
    counts[list(special)] = 0
    chosen = np.flatnonzero(counts >= max(least, 1))
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    if not len(chosen):
        do = "lower min_count, or give more text"
        raise FirthError(f"no word occurs {least} times or more", where=split.name, do=do)
    row_of = np.full(tokenizer.size, NONE, np.int32)
    row_of[chosen] = np.arange(len(chosen), dtype=np.int32)
    row_of[tokenizer.special.end] = END
    names = list(tokenizer.vocabulary())
    return Corpus(split.ids, split.starts, row_of, [names[token] for token in chosen], counts[chosen])


def alike(split: Split, corpus: Corpus) -> Corpus:
    """Another split of the same tokenizer, with the same rows."""
    return replace(corpus, tokens=split.ids, starts=split.starts)


def extended(corpus: Corpus, start: WordVectors) -> Corpus:
    """The same text with rows for all words of a store too: words that it lacks keep their vectors in training on."""
    known = {word: row for row, word in enumerate(corpus.words)}
    old = np.ones(len(start), np.int64) if start.counts is None else start.counts
    words = [*corpus.words, *(word for word in start.words if word not in known)]
    counts = np.zeros(len(words), np.int64)
    counts[: len(known)] = corpus.counts
    places = {word: row for row, word in enumerate(words)}
    counts[[places[word] for word in start.words]] += old
    order = np.argsort(-counts, kind="stable")  # a Huffman tree wants frequent words first
    place_of = np.empty(len(words), np.int32)
    place_of[order] = np.arange(len(words), dtype=np.int32)
    row_of = np.where(corpus.row_of >= 0, place_of[np.maximum(corpus.row_of, 0)], corpus.row_of).astype(np.int32)
    return replace(corpus, row_of=row_of, words=[words[row] for row in order], counts=counts[order])


def jobs(starts: np.ndarray, size: int) -> np.ndarray:
    """Borders of pieces of about `size` tokens, at the ends of documents where these are short enough."""
    wanted = np.arange(size, starts[-1], size)
    ends = starts[np.minimum(np.searchsorted(starts, wanted), len(starts) - 1)]
    borders = np.where(ends - wanted < size, ends, wanted)
    return np.unique(np.concatenate([[0], borders, [starts[-1]]]))
