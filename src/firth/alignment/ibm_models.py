"""Alignment models of one direction, P(target text | source text), and EM training of both directions together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firth.alignment import em_kernels
from firth.alignment.bitext import Bitext
from firth.alignment.distortion import DISTORTIONS, Arrays, Distortion, DistortionGrid, UniformDistortion
from firth.alignment.translation_table import TranslationTable, build_table
from firth.config.schema import Aligner
from firth.jit import run_in_order

NUM_CHUNKS = 8  # of an iteration, for any number of threads: counts are added in order, so that sums are the same
MIN_CHUNK_CELLS = 50_000
MAX_CACHED_CELLS = 1 << 28  # cells whose table entries are cached (4 bytes each); those of larger texts are recomputed


class Loss(NamedTuple):
    """The number of target words and their negative log-likelihood in nats."""

    count: int
    total: float


@dataclass(eq=False)
class IndexedBitext:
    """A bitext without empty sides, with the translation table entry of each cell (pair of target and source word)."""

    bitext: Bitext
    table: TranslationTable

    @cached_property
    def offsets(self) -> np.ndarray:
        """(pairs + 1,) where the cells of each pair begin."""
        sizes = (self.bitext.source.lengths + 1) * self.bitext.target.lengths
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    @cached_property
    def chunks(self) -> list[tuple[int, int]]:
        """Ranges (low, high) of pairs with about the same number of cells."""
        count = min(NUM_CHUNKS, len(self.bitext), int(self.offsets[-1]) // MIN_CHUNK_CELLS + 1)
        targets = np.linspace(0, self.offsets[-1], count + 1)[1:-1]
        borders = np.unique([0, *np.searchsorted(self.offsets, targets), len(self.bitext)])
        return [(int(low), int(high)) for low, high in pairwise(borders)]

    def entries(self, low: int, high: int) -> np.ndarray:
        """The table entries of the cells of pairs low..high; −1: the words never co-occur."""
        if self.offsets[-1] <= MAX_CACHED_CELLS:
            return self._cached_entries[self.offsets[low] : self.offsets[high]]
        pairs = np.arange(len(self.bitext))
        return IndexedBitext(self.bitext.select((pairs >= low) & (pairs < high)), self.table)._cached_entries

    @cached_property
    def _cached_entries(self) -> np.ndarray:
        source, target, table = self.bitext.source, self.bitext.target, self.table
        slots, entries = np.full(table.null, -1, np.int32), np.empty(self.offsets[-1], np.int32)
        text_of = np.repeat(np.arange(len(self.bitext)), source.lengths)
        texts = np.argsort(source.ids, kind="stable"), source.ids, source.starts, text_of, target.ids, target.starts
        em_kernels.index_cells(table.starts, table.targets, *texts, self.offsets, slots, entries)
        return entries


class AlignmentModel:
    """P(target text | source text), by a translation table and a distortion model."""

    def __init__(self, table: TranslationTable, distortion: Distortion) -> None:
        self.table, self.distortion = table, distortion

    def index(self, bitext: Bitext) -> IndexedBitext:
        """Index pairs of texts for the methods below."""
        return IndexedBitext(bitext, self.table)

    def loss(self, texts: IndexedBitext, threads: int = 1) -> Loss:
        """The negative log-likelihood of the target texts given the source texts."""
        nll = sum(run_in_order(lambda task: task.e_step().nll, list(self.tasks(texts)), threads))
        return Loss(len(texts.bitext.target.ids), float(nll))

    def posteriors(self, texts: IndexedBitext) -> list[np.ndarray]:
        """Alignment posteriors of each pair, (target words, 1 + source words); column 0 is NULL."""
        cells = np.concatenate([np.empty(0), *(task.e_step().posteriors for task in self.tasks(texts))])
        matrices = np.split(cells, texts.offsets[1:-1])
        return [
            matrix.reshape(-1, length + 1)
            for matrix, length in zip(matrices, texts.bitext.source.lengths, strict=False)
        ]

    def viterbi(self, texts: IndexedBitext, threads: int = 1) -> np.ndarray:
        """The Viterbi (most probable) alignment: (target words,) int32, the source position of each; −1: NULL."""
        columns = np.zeros(len(texts.bitext.target.ids), np.int32)
        for _ in run_in_order(lambda task: task.viterbi(columns), list(self.tasks(texts)), threads):
            pass
        return columns - 1

    def tasks(self, texts: IndexedBitext, grid: DistortionGrid | None = None) -> Iterator[EmTask]:
        """The tasks of one pass, a chunk of pairs each; a grid that exists already can be passed in."""
        grid = self.distortion.layout(texts.bitext) if grid is None else grid
        table = self.distortion.table(grid)
        return (EmTask(self, texts, grid, table, *chunk) for chunk in texts.chunks)


class Expectations(NamedTuple):
    """The result of the E-step on a chunk."""

    nll: float
    entries: np.ndarray  # the table entry of each cell
    posteriors: np.ndarray  # the posterior probability of each cell
    distortion_counts: np.ndarray  # expected counts of the distortion table


class EmTask(NamedTuple):
    """A chunk of sentence pairs with the model: one kernel call."""

    model: AlignmentModel
    texts: IndexedBitext
    grid: DistortionGrid
    table: np.ndarray  # distortion probabilities
    low: int
    high: int

    def e_step(self) -> Expectations:
        """Compute the posteriors of all cells and the expected counts of the distortion table."""
        posteriors = np.empty(self.texts.offsets[self.high] - self.texts.offsets[self.low])
        distortion_counts, arguments = np.zeros(self.grid.offsets[-1]), self._kernel_arguments()
        nll = self.model.distortion.kernels.posteriors(*arguments, posteriors, distortion_counts)
        return Expectations(nll, arguments.entries, posteriors, distortion_counts)

    def viterbi(self, columns: np.ndarray) -> None:
        """Write the most probable column of each target word into `columns`."""
        self.model.distortion.kernels.viterbi(*self._kernel_arguments(), columns)

    def _kernel_arguments(self) -> _KernelArguments:
        source, target, table = self.texts.bitext.source, self.texts.bitext.target, self.model.table
        entries = self.texts.entries(self.low, self.high)
        texts = source.ids, source.starts, target.starts, self.low, self.high, entries
        distortion = self.table, self.grid.offsets, self.grid.shape_of_pair, self.model.distortion.null
        return _KernelArguments(*texts, table.probabilities, table.unseen, *distortion)


class _KernelArguments(NamedTuple):
    """The first arguments of every kernel."""

    source: np.ndarray
    source_starts: np.ndarray
    target_starts: np.ndarray
    low: int
    high: int
    entries: np.ndarray
    probabilities: np.ndarray
    unseen: np.ndarray
    distortion: np.ndarray
    offsets: np.ndarray
    shapes: np.ndarray
    null_probability: float


# --- training -----------------------------------------------------------------------------------------------------


class _DirectionTrainer:
    """One direction during training: Model 1 in the first iterations, then its own distortion model."""

    def __init__(self, bitext: Bitext, vocab_size: int, config: Aligner) -> None:
        table = build_table(bitext, vocab_size, config.identical_bonus)
        distortion, uniform = DISTORTIONS[config.distortion](config), UniformDistortion(config)
        self.texts, self.table, self.model = IndexedBitext(bitext, table), table, AlignmentModel(table, distortion)
        model1 = AlignmentModel(table, uniform), uniform.layout(bitext)
        self._phases = {False: (self.model, distortion.layout(bitext)), True: model1}
        distortion.initialise(self._phases[False][1])

    def tasks(self, is_model1: bool) -> Iterator[EmTask]:
        """The E-step's tasks, with Model 1 or the model's own distortion."""
        model, grid = self._phases[is_model1]
        return model.tasks(self.texts, grid)

    def m_step(self, is_model1: bool, expected: _ExpectedCounts, config: Aligner) -> None:
        """Re-estimate the translation table and the distortion model from expected counts."""
        model, grid = self._phases[is_model1]
        self.table.update(expected.translation, config.smoothing, config.smoothing_strength)
        model.distortion.update(grid, expected.distortion)


@dataclass
class _ExpectedCounts:
    """Expected counts of one direction, with the negative log-likelihood."""

    nll: float
    translation: np.ndarray  # of the translation table's entries
    distortion: np.ndarray  # of the distortion table's cells

    def add(self, other: _ExpectedCounts) -> None:
        """Add those of another chunk, in place."""
        self.nll += other.nll
        self.translation += other.translation
        self.distortion += other.distortion


class Training:
    """EM training of both directions: the configured iterations of Model 1 first, then the model's own."""

    def __init__(self, bitext: Bitext, vocab_size: int, config: Aligner) -> None:
        self.bitext, self.config = bitext, config
        self._directions = [_DirectionTrainer(text, vocab_size, config) for text in (bitext, bitext.reversed)]
        self._directions[1].texts.chunks = self._directions[0].texts.chunks  # the same pairs, so that both can agree
        self.models = tuple(direction.model for direction in self._directions)

    def em_step(self, epoch: int, threads: int) -> Loss:
        """Run one EM iteration over both directions and return the loss before it; deterministic for any threads."""
        is_model1, sums = epoch < self.config.model1_epochs, None
        tasks = list(zip(*(direction.tasks(is_model1) for direction in self._directions), strict=True))
        for counts in run_in_order(self._e_step, tasks, threads):
            if sums is None:
                sums = counts
            else:
                for total, chunk in zip(sums, counts, strict=True):
                    total.add(chunk)
        for direction, total in zip(self._directions, sums, strict=True):
            direction.m_step(is_model1, total, self.config)
        return Loss(len(self.bitext.source.ids) + len(self.bitext.target.ids), sum(total.nll for total in sums))

    def _e_step(self, tasks: tuple[EmTask, EmTask]) -> list[_ExpectedCounts]:
        """The expected counts of both directions on one chunk, by agreement of both if configured."""
        results = [task.e_step() for task in tasks]
        if self.config.agreement:
            pairs, sides = slice(tasks[0].low, tasks[0].high), (self.bitext.source, self.bitext.target)
            em_kernels.agree(*(result.posteriors for result in results), *(side.lengths[pairs] for side in sides))
        sums = []
        for task, result in zip(tasks, results, strict=True):
            counts = np.zeros(len(task.model.table.targets))
            em_kernels.accumulate_counts(result.entries, result.posteriors, counts)
            sums.append(_ExpectedCounts(result.nll, counts, result.distortion_counts))
        return sums

    @property
    def arrays(self) -> Arrays:
        """All trained parameters of both directions, for checkpoints."""
        arrays = {}
        for name, direction in zip(("forward", "backward"), self._directions, strict=True):
            table = {"probabilities": direction.table.probabilities, "unseen": direction.table.unseen}
            own = {**table, **direction.model.distortion.arrays}
            arrays |= {f"{name}.{key}": value for key, value in own.items()}
        return arrays
