"""word2vec: skip-gram and CBOW, with negative sampling, NCE, hierarchical softmax or the whole softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firth.config.schema import WordToVec
from firth.data.randomness import generator, number
from firth.errors import FirthError
from firth.vectors import kernels
from firth.vectors.corpus import Corpus, jobs

JOB = 20_000  # tokens of a piece of work
NOISE = 1_000_000  # places of the table that negatives are drawn from
SOFTMAX = 20_000  # words up to which the whole softmax is allowed
LANES = 16  # rows are padded to a multiple of so many numbers
METHODS = {"negative": kernels.NEGATIVE, "nce": kernels.NCE, "hierarchical": kernels.HIERARCHICAL}


class Loss(NamedTuple):
    """Predictions made, and the sum of their losses in nats."""

    predictions: int
    total: float

    @property
    def mean(self) -> float:
        """Of one prediction."""
        return self.total / self.predictions if self.predictions else 0.0


@dataclass(frozen=True, eq=False)
class Tables:
    """What the kernel needs to know of the vocabulary."""

    keep: np.ndarray  # (words,) uint32: how often a word is kept
    noise: np.ndarray  # (NOISE,) int32
    shifts: np.ndarray  # (words,) float32: log of the expected negatives, for NCE
    nodes: np.ndarray  # the path of each word in the Huffman tree …
    codes: np.ndarray  # … and the way to go at each node
    offsets: np.ndarray  # (words + 1,)
    most: int  # rows of output that a prediction looks at


class Model:
    """Vectors in training: rows of input and of output, changed in place."""

    def __init__(self, corpus: Corpus, config: WordToVec, seed: int) -> None:
        if config.predict == "softmax" and len(corpus.words) > SOFTMAX:
            what = f"{len(corpus.words):,} words are too many for the whole softmax"
            raise FirthError(what, where="predict", do=f"use negative or hierarchical, or at most {SOFTMAX:,} words")
        self.corpus, self.config, self.seed = corpus, config, seed
        self.tables = _tables(corpus.counts, config)
        padded = -(-config.width // LANES) * LANES
        self.inputs = np.zeros((len(corpus.words), padded), np.float32)
        start = generator(seed, "word2vec").random((len(corpus.words), config.width), dtype=np.float32)
        self.inputs[:, : config.width] = (start - np.float32(0.5)) / np.float32(config.width)
        self.outputs = np.zeros_like(self.inputs)

    @property
    def vectors(self) -> np.ndarray:
        """(words, width) those of words."""
        return self.inputs[:, : self.config.width]

    @property
    def context(self) -> np.ndarray | None:
        """(words, width) those of words as context; a Huffman tree has none."""
        return None if self.config.predict == "hierarchical" else self.outputs[:, : self.config.width]

    def train(self, epoch: int, threads: int, told: Callable[[int], None] = lambda tokens: None) -> Loss:
        """One epoch; with one thread the same seed gives the same bytes. `told` hears of the tokens done."""
        borders, config = jobs(self.corpus.starts, JOB), self.config
        pieces = list(pairwise(borders))

        def work(index: int) -> Loss:
            done = (epoch + index / len(pieces)) / config.epochs
            rate = max(config.least_rate, config.rate * (1 - done))
            found = self._pass(self.corpus, *pieces[index], rate, number(self.seed, "job", epoch, index))
            told(int(pieces[index][1] - pieces[index][0]))
            return found

        if threads < 2:
            return _sum(map(work, range(len(pieces))))
        with ThreadPoolExecutor(threads) as pool:
            return _sum(pool.map(work, range(len(pieces))))

    def loss(self, corpus: Corpus) -> Loss:
        """Of other text with the same rows; nothing is changed."""
        borders = jobs(corpus.starts, JOB)
        pieces = pairwise(borders)
        return _sum(self._pass(corpus, *piece, 0.0, number(0, "held out", i)) for i, piece in enumerate(pieces))

    def _pass(self, corpus: Corpus, begin: int, stop: int, rate: float, seed: int) -> Loss:
        config, t = self.config, self.tables
        common = (config.model == "cbow", corpus.tokens, begin, stop, corpus.row_of, t.keep, config.window)
        common = (*common, np.float32(rate), seed | 1, self.inputs, self.outputs)
        if config.predict == "softmax":
            return Loss(*kernels.train_softmax(*common))
        rest = (t.noise, t.shifts, t.nodes, t.codes, t.offsets, config.negatives, t.most)
        tables = (kernels.SIGMOID, kernels.SURPRISE)
        return Loss(*kernels.train(*common, *tables, METHODS[config.predict], *rest))


def _sum(losses: Iterator[Loss]) -> Loss:
    predictions, total = 0, 0.0
    for found in losses:
        predictions, total = predictions + found.predictions, total + found.total
    return Loss(predictions, total)


def _tables(counts: np.ndarray, config: WordToVec) -> Tables:
    noise_share = counts.astype(np.float64) ** config.exponent
    noise_share /= noise_share.sum()
    empty = np.zeros(0, np.int32)
    paths = _paths(counts) if config.predict == "hierarchical" else (empty, np.zeros(0, np.int8), np.zeros(1, np.int64))
    expected = np.log(config.negatives * noise_share) if config.predict == "nce" else np.zeros(len(counts))
    most = int(np.diff(paths[2]).max(initial=0)) if config.predict == "hierarchical" else config.negatives + 1
    return Tables(keeping(counts, config.sample), noise_table(noise_share), expected.astype(np.float32), *paths, most)


def keeping(counts: np.ndarray, sample: float) -> np.ndarray:
    """The threshold of each word for a 32-bit random number: frequent words are kept with sqrt(t/f) + t/f."""
    if not sample:
        return np.full(len(counts), 2**32 - 1, np.uint32)
    share = sample * counts.sum() / counts
    return (np.minimum(1.0, np.sqrt(share) + share) * (2**32 - 1)).astype(np.uint32)


def noise_table(share: np.ndarray) -> np.ndarray:
    """Rows of words, each as often as its share; every word once at least."""
    places = max(NOISE, 4 * len(share))
    bounds = np.maximum.accumulate(np.round(np.cumsum(share) * places).astype(np.int64))
    often = np.maximum(np.diff(bounds, prepend=0), 1)
    return np.repeat(np.arange(len(share), dtype=np.int32), often)


def _paths(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each word the inner nodes from the root, and whether to go left (0) or right (1) at each."""
    words = len(counts)
    parent, bit = np.zeros(2 * words - 1, np.int64), np.zeros(2 * words - 1, np.int8)
    kernels.huffman(counts, parent, bit)
    nodes, codes, offsets = [], [], [0]
    for word in range(words):
        path, node = [], word
        while node != 2 * words - 2:  # the root
            path.append((parent[node] - words, bit[node]))
            node = parent[node]
        path.reverse()
        nodes += [inner for inner, _ in path]
        codes += [way for _, way in path]
        offsets.append(len(nodes))
    return np.array(nodes, np.int32), np.array(codes, np.int8), np.array(offsets, np.int64)
