"""GloVe: weighted least squares on the logarithms of the co-occurrence matrix (Pennington, Socher and Manning 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.config.schema import GloVe
from firth.embeddings import cooccurrence_files, glove_kernels
from firth.embeddings.cooccurrence import CooccurrenceCounts
from firth.embeddings.method import Loss
from firth.embeddings.training_text import Corpus
from firth.embeddings.word_vectors import WordVectors
from firth.jit import default_threads, run_in_order
from firth.types import derive_seed, generator

CHUNK_CELLS = 200_000  # cells of a chunk, at most
MIN_CHUNKS = 32  # per epoch, so that the cells of a small text are shuffled too
ROW_ALIGNMENT = 16  # rows are padded to a multiple of this many floats


@dataclass(frozen=True, eq=False)
class ChunkedCells:
    """The nonzero cells in chunks, each a random sample of all cells, sorted by row."""

    cells: np.ndarray  # (cells, 2) int32: row and column
    targets: np.ndarray  # (cells, 2) float32: log count, and weight of the loss
    borders: np.ndarray  # (chunks + 1,)

    def chunk(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The cells and targets of one chunk."""
        low, high = self.borders[number : number + 2]
        return self.cells[low:high], self.targets[low:high]


class GloVeTrainer:
    """GloVe in training (an `EmbeddingTrainer`).

    Within a chunk, cells come by row from a random start: a row stays in the L1 cache, which is twice as fast as a full
    shuffle at the same loss, and threads do not update the frequent rows at the same time.
    """

    has_loss = True

    def __init__(self, corpus: Corpus, config: GloVe, seed: int, threads: int = 0, folder: Path | None = None) -> None:
        """Counts the co-occurrences; with a folder, the cells are in files there, not in memory."""
        self.corpus, self.config, self.seed = corpus, config, seed
        self.threads, self.folder = threads or default_threads(), folder
        counts = cooccurrence_files.count_corpus(corpus, config, self.threads, folder)
        if not len(counts):
            raise cooccurrence_files.no_cooccurrences()
        self._total = float(counts.weights.sum(dtype=np.float64))
        self._chunked = self._make_chunks(counts, 0.0, folder)
        self._held_out: tuple[Corpus, ChunkedCells] | None = None  # the last held-out text
        self.size, self.chunks = len(counts), len(self._chunked.borders) - 1
        sides = enumerate(("words", "contexts"))
        self.arrays = {name: _init_rows(len(corpus.words), config.width, seed, side) for side, name in sides}

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """Train on one chunk; each epoch shuffles the chunks and samples the start within each."""
        shuffled = int(generator(self.seed, "order", epoch).permutation(self.chunks)[chunk])
        cells, targets = self._chunked.chunk(shuffled)
        start = derive_seed(self.seed, "start", epoch, chunk) % len(cells)
        width, learning_rate = self.config.width, np.float32(self.config.learning_rate)
        return Loss(*glove_kernels.train(*self._sides, width, cells, targets, start, learning_rate))

    def held_out(self, corpus: Corpus) -> Loss | None:
        """The loss over the cells of other text, with counts scaled to the size of the training text.

        The scale is the ratio of the sums of counts; the weight of a cell is that of its unscaled count.
        """
        if self._held_out is None or self._held_out[0] is not corpus:
            folder = self.folder and self.folder / "held-out"
            counts = cooccurrence_files.count_corpus(corpus, self.config, self.threads, folder)
            if not len(counts):
                return None
            shift = np.log(self._total / counts.weights.sum(dtype=np.float64))
            self._held_out = corpus, self._make_chunks(counts, float(shift), folder)
        chunked = self._held_out[1]
        return Loss(*glove_kernels.evaluate(*self._sides, chunked.cells, chunked.targets))

    def word_vectors(self) -> WordVectors:
        """The means of word and context vectors, as the paper advises; `WordVectors.kind` gives each set and the
        sum."""
        words, contexts = (side[:, : self.config.width] for side in self._sides)
        mean = (words + contexts) / np.float32(2)
        return WordVectors(self.corpus.words, mean, counts=self.corpus.counts, context=contexts, is_mean=True)

    @property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["words"], self.arrays["contexts"]

    def _make_chunks(self, counts: CooccurrenceCounts, shift: float, folder: Path | None) -> ChunkedCells:
        """Distribute the cells over chunks at random; their own files are deleted."""
        chunks = min(len(counts), max(MIN_CHUNKS, -(-len(counts) // CHUNK_CELLS)))
        groups, rest = divmod(len(counts), chunks)
        borders = np.append(0, np.cumsum(groups + (np.arange(chunks) < rest)))
        rotations = np.append(generator(self.seed, "deal").integers(0, chunks, groups), 0)  # the last group is partial
        cells = cooccurrence_files.allocate(folder, "cells.bin", (len(counts), 2), np.int32)
        targets = cooccurrence_files.allocate(folder, "targets.bin", (len(counts), 2), np.float32)
        columns = [np.asarray(column) for column in (counts.rows, counts.cols, counts.weights)]
        weighting = shift, float(self.config.x_max), float(self.config.alpha)

        def distribute(begin: int) -> None:
            stop = min(begin + CHUNK_CELLS, len(counts))
            glove_kernels.distribute_cells(*columns, begin, stop, borders, rotations, *weighting, cells, targets)

        for _ in run_in_order(distribute, list(range(0, len(counts), CHUNK_CELLS)), self.threads):
            pass
        cooccurrence_files.remove_files(folder)
        return ChunkedCells(cells, targets, borders)


def _init_rows(words: int, width: int, seed: int, side: int) -> np.ndarray:
    """(words, 2 · padded) of one side: the vector, its bias and the constant 1 of the other's bias; then AdaGrad's
    accumulators."""
    half = -(-(width + 2) // ROW_ALIGNMENT) * ROW_ALIGNMENT
    rows = np.zeros((words, 2 * half), np.float32)
    uniform = generator(seed, "glove", side).random((words, width), dtype=np.float32)
    rows[:, :width] = (uniform - np.float32(0.5)) / np.float32(width)
    rows[:, width + 1 - side] = 1
    rows[:, half:] = 1
    return rows
