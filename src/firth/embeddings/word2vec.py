"""word2vec: skip-gram and CBOW with negative sampling, NCE, hierarchical softmax or full softmax, and subsampling of
frequent words; and fastText, the same with subword (character n-gram) vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from firth.config.schema import Word2Vec
from firth.embeddings import word2vec_kernels
from firth.embeddings.huffman import HuffmanPaths, huffman_paths
from firth.embeddings.method import Loss
from firth.embeddings.subwords import Subwords, subword_table
from firth.embeddings.training_text import Corpus, chunk_borders
from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.types import derive_seed, generator

CHUNK_TOKENS = 20_000  # tokens of a chunk
INIT_BLOCK = 4096  # rows initialised at once
NOISE_TABLE_SIZE = 1_000_000  # entries of the table that negatives are sampled from
MAX_SOFTMAX_WORDS = 20_000  # largest vocabulary of the full softmax
INIT_SCALE = 0.4  # initial vectors have a norm of about 0.12 at any width: larger than in the authors' programs
ROW_ALIGNMENT = 16  # rows are padded to a multiple of this many floats
LOSSES = {
    "negative-sampling": word2vec_kernels.NEGATIVE,
    "nce": word2vec_kernels.NCE,
    "hierarchical-softmax": word2vec_kernels.HIERARCHICAL,
}


class InputRows:
    """The input rows of each word: its own, and those of the hash buckets of its character n-grams."""

    def __init__(self, words: WordTable, config: Word2Vec) -> None:
        bucket_count = config.buckets if config.max_n else 0
        first, buckets = subword_table(words, config.min_n, config.max_n, bucket_count)
        self.used_buckets, rows = np.unique(buckets, return_inverse=True)  # the others are never trained
        self.offsets = first + np.arange(len(words) + 1)
        self.rows = np.insert(rows + len(words), first[:-1], np.arange(len(words))).astype(np.int32)


class Word2VecTrainer:
    """word2vec or fastText in training (an `EmbeddingTrainer`): input and output vectors, updated in place."""

    has_loss = True

    def __init__(
        self, corpus: Corpus, config: Word2Vec, epochs: int = 5, seed: int = 0, start: WordVectors | None = None
    ) -> None:
        _check(len(corpus.words), config)
        self.corpus, self.config, self.epochs, self.seed = corpus, config, epochs, seed
        self.size, self.tables = corpus.size, make_tables(corpus.counts, config)
        self._chunk_borders = list(pairwise(chunk_borders(corpus.starts, CHUNK_TOKENS)))
        self.chunks = len(self._chunk_borders)
        self.input_rows = InputRows(WordTable.of(corpus.words), config)
        width, words = config.width, len(corpus.words)
        padded = -(-width // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.inputs = np.zeros((words + len(self.input_rows.used_buckets), padded), np.float32)
        random, scale = generator(seed, "word2vec"), np.float32(INIT_SCALE / width**0.5)
        for low in range(0, len(self.inputs), INIT_BLOCK):
            rows = self.inputs[low : low + INIT_BLOCK, :width]
            rows[:] = (random.random(rows.shape, dtype=np.float32) - np.float32(0.5)) * scale
        self.outputs = np.zeros((words, self.inputs.shape[1]), np.float32)
        if start is not None:
            self._init_from(start)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """Train on one chunk of an epoch; the learning rate decays linearly over all chunks."""
        done = (epoch + chunk / self.chunks) / self.epochs
        learning_rate = max(self.config.min_learning_rate, self.config.learning_rate * (1 - done))
        seed = derive_seed(self.seed, "job", epoch, chunk)
        return self._pass(self.corpus, *self._chunk_borders[chunk], learning_rate, seed)

    def held_out(self, corpus: Corpus) -> Loss:
        """The loss on other text with the same vocabulary."""
        chunks = enumerate(pairwise(chunk_borders(corpus.starts, CHUNK_TOKENS)))
        losses = (self._pass(corpus, *borders, 0.0, derive_seed(0, "held out", index)) for index, borders in chunks)
        return sum(losses, start=Loss(0, 0.0))

    def word_vectors(self) -> WordVectors:
        """The current word vectors; with context vectors, except for hierarchical softmax, whose outputs are nodes."""
        words, config = WordTable.of(self.corpus.words), self.config
        word_rows, subwords = np.ascontiguousarray(self.inputs[: len(words), : config.width]), None
        vectors, context = word_rows, None
        if config.max_n:
            buckets = np.ascontiguousarray(self.inputs[len(words) :, : config.width])
            used = self.input_rows.used_buckets
            subwords = Subwords(buckets, config.min_n, config.max_n, word_rows, used, config.buckets)
            vectors = subwords.compose(words, word_rows)
        if config.loss != "hierarchical-softmax":
            context = np.ascontiguousarray(self.outputs[:, : config.width])
        return WordVectors(words, vectors, counts=self.corpus.counts, context=context, subwords=subwords)

    def _pass(self, corpus: Corpus, begin: int, stop: int, learning_rate: float, seed: int) -> Loss:
        config, cbow = self.config, self.config.model == "cbow"
        text = (corpus.tokens, begin, stop, corpus.row_of)
        settings = (config.window, np.float32(learning_rate), seed | 1)
        if config.loss == "softmax":
            return Loss(*word2vec_kernels.softmax(cbow, *text, self.tables.keep, *settings, self.inputs, self.outputs))
        if cbow or config.max_n:
            rows = (self.input_rows.offsets, self.input_rows.rows, self.inputs, self.outputs)
            return Loss(*word2vec_kernels.mean_input(cbow, *text, *settings, *rows, self.tables))
        return Loss(*word2vec_kernels.skip_gram(*text, *settings, self.inputs, self.outputs, self.tables))

    def _init_from(self, start: WordVectors) -> None:
        """Initialise shared words and subwords with pretrained vectors."""
        config, width, subwords = self.config, self.config.width, start.subwords
        if start.width != width:
            what = f"the initial vectors have width {start.width}, the configuration has width {width}"
            raise FirthError(what, do=f"set method.width={start.width}")
        start_rows = np.array([start.words.find(word) for word in self.corpus.words], np.int64)
        known = np.flatnonzero(start_rows >= 0)
        options = config.min_n, config.max_n, config.buckets
        same = subwords is not None and options == (subwords.min_n, subwords.max_n, subwords.bucket_count)
        word_rows = subwords.decompose(start.words, start.vectors) if same else start.vectors
        self.inputs[known, :width] = word_rows[start_rows[known]]
        if start.context is not None and config.loss != "hierarchical-softmax":
            self.outputs[known, :width] = start.context[start_rows[known]]
        if same:
            rows = subwords.bucket_rows(self.input_rows.used_buckets)
            shared = np.flatnonzero(rows >= 0)
            self.inputs[len(self.corpus.words) + shared, :width] = subwords.buckets[rows[shared]]


def _check(words: int, config: Word2Vec) -> None:
    if config.loss == "softmax" and words > MAX_SOFTMAX_WORDS:
        do = f"use negative-sampling or hierarchical-softmax, or at most {MAX_SOFTMAX_WORDS:,} words"
        raise FirthError(f"{words:,} words are too many for the full softmax", where="loss", do=do)
    if config.loss == "softmax" and config.max_n:
        raise FirthError("the full softmax does not support subwords", where="loss", do="use negative-sampling")
    if not min(1, config.max_n) <= config.min_n <= config.max_n:
        what = f"character n-grams of {config.min_n} to {config.max_n} characters"
        raise FirthError(what, where="min_n, max_n", do="choose 3 and 6, or 0 and 0 for no subwords")


def make_tables(counts: np.ndarray, config: Word2Vec) -> word2vec_kernels.Tables:
    """What the kernels need to know about the vocabulary."""
    noise = counts.astype(np.float64) ** config.noise_exponent
    noise /= noise.sum()
    tree = HuffmanPaths(np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(1, np.int64))
    max_targets = config.negatives + 1
    if config.loss == "hierarchical-softmax":
        tree = huffman_paths(counts)
        max_targets = max(1, tree.max_length)
    shifts = np.log(config.negatives * noise) if config.loss == "nce" else np.zeros(len(counts))
    return word2vec_kernels.Tables(
        LOSSES.get(config.loss, word2vec_kernels.NEGATIVE),
        config.negatives,
        max_targets,
        keep_thresholds(counts, config.subsample),
        noise_table(noise),
        shifts.astype(np.float32),
        *tree,
    )


def keep_thresholds(counts: np.ndarray, subsample: float) -> np.ndarray:
    """Subsampling of frequent words: each word is kept with probability sqrt(t/f) + t/f, as a 32-bit threshold."""
    if not subsample:
        return np.full(len(counts), 2**32 - 1, np.uint32)
    ratio = subsample * counts.sum() / np.maximum(counts, 1)
    return (np.minimum(1.0, np.sqrt(ratio) + ratio) * (2**32 - 1)).astype(np.uint32)


def noise_table(probabilities: np.ndarray) -> np.ndarray:
    """The table that negatives are sampled from: rows in proportion to their probabilities, each at least once."""
    size = max(NOISE_TABLE_SIZE, 4 * len(probabilities))
    bounds = np.maximum.accumulate(np.round(np.cumsum(probabilities) * size).astype(np.int64))
    repeats = np.maximum(np.diff(bounds, prepend=0), 1)
    return np.repeat(np.arange(len(probabilities), dtype=np.int32), repeats)
