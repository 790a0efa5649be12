"""GloVe: vectors whose products are the logarithms of co-occurrence (Pennington, Socher and Manning 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.config.schema import GloVe
from firth.counts.compiled import default_threads, run_in_order
from firth.counts.cooccurrence import Cells
from firth.data.randomness import generator, number
from firth.vectors import cells, glove_kernels
from firth.vectors.corpus import Corpus
from firth.vectors.learner import Loss
from firth.vectors.store import WordVectors

PIECE = 200_000  # cells of a piece of work, at most
PIECES = 32  # of an epoch, at least, so that cells of a small text are mixed too
LANES = 16  # rows are padded to a multiple of so many numbers


@dataclass(frozen=True, eq=False)
class Dealt:
    """Cells in pieces, each a fair sample of all of them, in the order of their rows."""

    places: np.ndarray  # (cells, 2) int32: row and column
    aims: np.ndarray  # (cells, 2) float32: logarithm, and weight of the loss
    borders: np.ndarray  # (pieces + 1,)

    def piece(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The places and aims of one piece."""
        low, high = self.borders[number : number + 2]
        return self.places[low:high], self.aims[low:high]


class Model:
    """Vectors in training; see `Learner`.

    Within a piece cells come by row, from a random one on: a row stays in the nearest cache, which makes it twice as
    fast as a full shuffle, at the same loss; and threads are not at the frequent rows at the same time.
    """

    predicts = True

    def __init__(self, corpus: Corpus, config: GloVe, seed: int, threads: int = 0, folder: Path | None = None) -> None:
        """Counts the text at once; with a folder, the cells are in files there, not in memory."""
        self.corpus, self.config, self.seed = corpus, config, seed
        self.threads, self.folder = threads or default_threads(), folder
        found = cells.count(corpus, config, self.threads, folder)
        if not len(found):
            raise cells.none_near()
        self._total = float(found.weights.sum(dtype=np.float64))
        self._dealt = self._deal(found, 0.0, folder)
        self._other: tuple[Corpus, Dealt] | None = None  # the held-out text of the last time
        self.size, self.pieces = len(found), len(self._dealt.borders) - 1
        sides = enumerate(("words", "contexts"))
        self.arrays = {name: _rows(len(corpus.words), config.width, seed, side) for side, name in sides}

    def work(self, epoch: int, piece: int) -> Loss:
        """Do one piece; the order of the pieces, and where in each it begins, are drawn anew for each epoch."""
        chosen = int(generator(self.seed, "order", epoch).permutation(self.pieces)[piece])
        places, aims = self._dealt.piece(chosen)
        start = number(self.seed, "start", epoch, piece) % len(places)
        width, rate = self.config.width, np.float32(self.config.rate)
        return Loss(*glove_kernels.train(*self._sides, width, places, aims, start, rate))

    def held_out(self, corpus: Corpus) -> Loss | None:
        """The loss over the cells of other text, as if it were as long as the training text.

        Its counts are scaled by the ratio of the texts' sums; the weight of a cell is that of the count as it was seen.
        """
        if self._other is None or self._other[0] is not corpus:
            folder = self.folder and self.folder / "held-out"
            found = cells.count(corpus, self.config, self.threads, folder)
            if not len(found):
                return None
            shift = np.log(self._total / found.weights.sum(dtype=np.float64))
            self._other = corpus, self._deal(found, float(shift), folder)
        dealt = self._other[1]
        return Loss(*glove_kernels.measure(*self._sides, dealt.places, dealt.aims))

    def store(self) -> WordVectors:
        """The means of both sets, as the paper advises; `kind` gives each set and their sum."""
        words, contexts = (side[:, : self.config.width] for side in self._sides)
        mean = (words + contexts) / np.float32(2)
        return WordVectors(self.corpus.words, mean, counts=self.corpus.counts, context=contexts, mean=True)

    @property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["words"], self.arrays["contexts"]

    def _deal(self, found: Cells, shift: float, folder: Path | None) -> Dealt:
        """The cells in pieces; the files they were in are deleted."""
        pieces = min(len(found), max(PIECES, -(-len(found) // PIECE)))
        runs, rest = divmod(len(found), pieces)
        borders = np.append(0, np.cumsum(runs + (np.arange(pieces) < rest)))
        turns = np.append(generator(self.seed, "deal").integers(0, pieces, runs), 0)  # the last run is not whole
        places = cells.room(folder, "places.bin", (len(found), 2), np.int32)
        aims = cells.room(folder, "aims.bin", (len(found), 2), np.float32)
        columns = [np.asarray(column) for column in (found.rows, found.cols, found.weights)]
        top, exponent = float(self.config.top), float(self.config.exponent)

        def part(begin: int) -> None:
            stop = min(begin + PIECE, len(found))
            glove_kernels.deal(*columns, begin, stop, borders, turns, shift, top, exponent, places, aims)

        for _ in run_in_order(part, list(range(0, len(found), PIECE)), self.threads):
            pass
        cells.remove(folder)
        return Dealt(places, aims, borders)


def _rows(words: int, width: int, seed: int, side: int) -> np.ndarray:
    """(words, 2 · padded) of one side: the vector, its bias, the partner of the other's bias; then sums of squares."""
    half = -(-(width + 2) // LANES) * LANES
    found = np.zeros((words, 2 * half), np.float32)
    start = generator(seed, "glove", side).random((words, width), dtype=np.float32)
    found[:, :width] = (start - np.float32(0.5)) / np.float32(width)
    found[:, width + 1 - side] = 1
    found[:, half:] = 1
    return found
