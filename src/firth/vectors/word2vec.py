"""word2vec: skip-gram and CBOW, with negative sampling, NCE, hierarchical softmax or the whole softmax; and fastText,
which is the same for words that are the mean of their parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from firth.config.schema import WordToVec
from firth.data.randomness import generator, number
from firth.errors import FirthError
from firth.vectors import kernels
from firth.vectors.corpus import Corpus, jobs
from firth.vectors.huffman import Paths, paths
from firth.vectors.learner import Loss
from firth.vectors.store import WordVectors
from firth.vectors.subwords import Subwords, table
from firth.vectors.words import Words

JOB = 20_000  # tokens of a piece of work
BLOCK = 4096  # rows whose start values are drawn at once
NOISE = 1_000_000  # places of the table that negatives are drawn from
SOFTMAX = 20_000  # words up to which the whole softmax is allowed
START = 0.4  # vectors start with a length of about 0.12, whatever their width: longer than in the authors' programs
LANES = 16  # rows are padded to a multiple of so many numbers
METHODS = {"negative": kernels.NEGATIVE, "nce": kernels.NCE, "hierarchical": kernels.HIERARCHICAL}


class Bags:
    """Which rows of input make up each word: its own, and those of the buckets that its parts fall into."""

    def __init__(self, words: Words, config: WordToVec) -> None:
        count = config.buckets if config.most_part else 0
        first, buckets = table(words, config.least_part, config.most_part, count)
        self.used, rows = np.unique(buckets, return_inverse=True)  # the others never change
        self.bounds = first + np.arange(len(words) + 1)
        self.rows = np.insert(rows + len(words), first[:-1], np.arange(len(words))).astype(np.int32)


class Model:
    """Vectors in training: rows of input and of output, changed in place."""

    predicts = True

    def __init__(
        self, corpus: Corpus, config: WordToVec, epochs: int = 5, seed: int = 0, start: WordVectors | None = None
    ) -> None:
        _check(len(corpus.words), config)
        self.corpus, self.config, self.epochs, self.seed = corpus, config, epochs, seed
        self.size, self.tables = corpus.size, make_tables(corpus.counts, config)
        self._pieces = list(pairwise(jobs(corpus.starts, JOB)))
        self.pieces = len(self._pieces)
        self.bags = Bags(Words.of(corpus.words), config)
        width, words = config.width, len(corpus.words)
        self.inputs = np.zeros((words + len(self.bags.used), -(-width // LANES) * LANES), np.float32)
        random = generator(seed, "word2vec")
        for low in range(0, len(self.inputs), BLOCK):
            rows = self.inputs[low : low + BLOCK, :width]
            rows[:] = (random.random(rows.shape, dtype=np.float32) - np.float32(0.5)) * np.float32(START / width**0.5)
        self.outputs = np.zeros((words, self.inputs.shape[1]), np.float32)
        if start is not None:
            self._begin_from(start)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All that training changes."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    def work(self, epoch: int, piece: int) -> Loss:
        """One piece of an epoch; the rate falls in a straight line over all of them."""
        done = (epoch + piece / self.pieces) / self.epochs
        rate = max(self.config.least_rate, self.config.rate * (1 - done))
        return self._pass(self.corpus, *self._pieces[piece], rate, number(self.seed, "job", epoch, piece))

    def held_out(self, corpus: Corpus) -> Loss:
        """Of other text with the same rows."""
        pieces = enumerate(pairwise(jobs(corpus.starts, JOB)))
        found = (self._pass(corpus, *piece, 0.0, number(0, "held out", index)) for index, piece in pieces)
        return sum(found, start=Loss(0, 0.0))

    def store(self) -> WordVectors:
        """The vectors; those of context unless they are of nodes of a tree."""
        words, width = Words.of(self.corpus.words), self.config.width
        own, parts = np.ascontiguousarray(self.inputs[: len(words), :width]), None
        vectors, context = own, None
        if self.config.most_part:
            buckets = np.ascontiguousarray(self.inputs[len(words) :, :width])
            sizes = self.config.least_part, self.config.most_part
            parts = Subwords(buckets, *sizes, own, self.bags.used, self.config.buckets)
            vectors = parts.compose(words, own)
        if self.config.predict != "hierarchical":
            context = np.ascontiguousarray(self.outputs[:, :width])
        return WordVectors(words, vectors, counts=self.corpus.counts, context=context, subwords=parts)

    def _pass(self, corpus: Corpus, begin: int, stop: int, rate: float, seed: int) -> Loss:
        config, bags, cbow = self.config, self.bags, self.config.model == "cbow"
        text = (corpus.tokens, begin, stop, corpus.row_of)
        how = (config.window, np.float32(rate), seed | 1)
        if config.predict == "softmax":
            return Loss(*kernels.softmax(cbow, *text, self.tables.keep, *how, self.inputs, self.outputs))
        if cbow or config.most_part:
            rows = (bags.bounds, bags.rows, self.inputs, self.outputs)
            return Loss(*kernels.bags(cbow, *text, *how, *rows, self.tables))
        return Loss(*kernels.skip_gram(*text, *how, self.inputs, self.outputs, self.tables))

    def _begin_from(self, start: WordVectors) -> None:
        """Take over the vectors of known words and parts."""
        if start.width != self.config.width:
            what = f"vectors of width {start.width} to go on from, but width {self.config.width} asked for"
            raise FirthError(what, do=f"set method.width={start.width}")
        places = np.array([start.words.find(word) for word in self.corpus.words], np.int64)
        known, width, parts = np.flatnonzero(places >= 0), self.config.width, start.subwords
        asked = self.config.least_part, self.config.most_part, self.config.buckets
        alike = parts is not None and asked == (parts.least, parts.most, parts.count)
        own = parts.divide(start.words, start.vectors) if alike else start.vectors
        self.inputs[known, :width] = own[places[known]]
        if start.context is not None and self.config.predict != "hierarchical":
            self.outputs[known, :width] = start.context[places[known]]
        if alike:
            rows = parts.rows(self.bags.used)
            kept = np.flatnonzero(rows >= 0)
            self.inputs[len(self.corpus.words) + kept, :width] = parts.buckets[rows[kept]]


def _check(words: int, config: WordToVec) -> None:
    if config.predict == "softmax" and words > SOFTMAX:
        do = f"use negative or hierarchical, or at most {SOFTMAX:,} words"
        raise FirthError(f"{words:,} words are too many for the whole softmax", where="predict", do=do)
    if config.predict == "softmax" and config.most_part:
        raise FirthError("parts of words need another way to predict", where="predict", do="use negative")
    if not min(1, config.most_part) <= config.least_part <= config.most_part:
        what = f"parts of {config.least_part} to {config.most_part} characters"
        raise FirthError(what, where="least_part, most_part", do="choose 3 and 6, or 0 and 0 for none")


def make_tables(counts: np.ndarray, config: WordToVec) -> kernels.Tables:
    """What the kernels need to know of the vocabulary."""
    share = counts.astype(np.float64) ** config.exponent
    share /= share.sum()
    tree, most = Paths(np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(1, np.int64)), config.negatives + 1
    if config.predict == "hierarchical":
        tree = paths(counts)
        most = max(1, tree.longest)
    shifts = np.log(config.negatives * share) if config.predict == "nce" else np.zeros(len(counts))
    method = METHODS.get(config.predict, kernels.NEGATIVE)
    kept, noise = keeping(counts, config.sample), noise_table(share)
    return kernels.Tables(method, config.negatives, most, kept, noise, shifts.astype(np.float32), *tree)


def keeping(counts: np.ndarray, sample: float) -> np.ndarray:
    """The threshold of each word for a 32-bit random number: frequent words are kept with sqrt(t/f) + t/f."""
    if not sample:
        return np.full(len(counts), 2**32 - 1, np.uint32)
    share = sample * counts.sum() / np.maximum(counts, 1)
    return (np.minimum(1.0, np.sqrt(share) + share) * (2**32 - 1)).astype(np.uint32)


def noise_table(share: np.ndarray) -> np.ndarray:
    """Rows of words, each as often as its share; every word once at least."""
    places = max(NOISE, 4 * len(share))
    bounds = np.maximum.accumulate(np.round(np.cumsum(share) * places).astype(np.int64))
    often = np.maximum(np.diff(bounds, prepend=0), 1)
    return np.repeat(np.arange(len(share), dtype=np.int32), often)
