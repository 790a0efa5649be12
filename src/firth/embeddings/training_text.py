"""The training corpus of word vectors: tokens of the token cache, and the vocabulary of words that have a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firth.datasets.token_cache import Split
from firth.embeddings.word2vec_kernels import END, NONE
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.tokenizers.tokenizer import Tokenizer

BLOCK = 1 << 22  # tokens counted at once


@dataclass(frozen=True, eq=False)
class Corpus:
    """Concatenated documents; each token has a row of the vectors, or none (NONE), or ends a document (END)."""

    tokens: np.ndarray  # memory-mapped
    starts: np.ndarray  # (documents + 1,)
    row_of: np.ndarray  # (vocabulary,) int32
    words: Sequence[str]  # in the order of the rows
    counts: np.ndarray  # (rows,) int64

    @property
    def size(self) -> int:
        """How many words the text has, including those without a row."""
        return len(self.tokens) - (len(self.starts) - 1)


def read_corpus(split: Split, tokenizer: Tokenizer, min_count: int = 1) -> Corpus:
    """The corpus of a split; special tokens and words with fewer than `min_count` occurrences get no vector."""
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    for begin in range(0, len(split.ids), BLOCK):
        counts += np.bincount(split.ids[begin : begin + BLOCK], minlength=tokenizer.vocab_size)
    special = {token for token in vars(tokenizer.special).values() if token is not None}
    counts[list(special)] = 0
    chosen = np.flatnonzero(counts >= max(min_count, 1))
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    if not len(chosen):
        do = "lower min_count, or give more text"
        raise FirthError(f"no word occurs {min_count} times or more", where=split.name, do=do)
    row_of = np.full(tokenizer.vocab_size, NONE, np.int32)
    row_of[chosen] = np.arange(len(chosen), dtype=np.int32)
    row_of[tokenizer.special.end] = END
    names = list(tokenizer.vocabulary())
    return Corpus(split.ids, split.starts, row_of, [names[token] for token in chosen], counts[chosen])


def with_split(split: Split, corpus: Corpus) -> Corpus:
    """Another split of the same tokenizer, with the vocabulary of the corpus."""
    return replace(corpus, tokens=split.ids, starts=split.starts)


def extend_vocabulary(corpus: Corpus, start: WordVectors) -> Corpus:
    """The same text with rows for all words of the initial vectors too, so that continued training keeps them."""
    known = {word: row for row, word in enumerate(corpus.words)}
    old = np.ones(len(start), np.int64) if start.counts is None else start.counts
    words = [*corpus.words, *(word for word in start.words if word not in known)]
    counts = np.zeros(len(words), np.int64)
    counts[: len(known)] = corpus.counts
    index_of = {word: index for index, word in enumerate(words)}
    counts[[index_of[word] for word in start.words]] += old
    order = np.argsort(-counts, kind="stable")  # a Huffman tree needs frequent words first
    new_row = np.empty(len(words), np.int32)
    new_row[order] = np.arange(len(words), dtype=np.int32)
    row_of = np.where(corpus.row_of >= 0, new_row[np.maximum(corpus.row_of, 0)], corpus.row_of).astype(np.int32)
    return replace(corpus, row_of=row_of, words=[words[row] for row in order], counts=counts[order])


def chunk_borders(starts: np.ndarray, size: int) -> np.ndarray:
    """Borders of chunks of about `size` tokens, at document ends where documents are short enough."""
    even = np.arange(size, starts[-1], size)
    ends = starts[np.minimum(np.searchsorted(starts, even), len(starts) - 1)]
    borders = np.where(ends - even < size, ends, even)
    return np.unique(np.concatenate([[0], borders, [starts[-1]]]))
