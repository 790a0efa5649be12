"""Distortion models, P(source position): uniform (Model 1), a table (Model 2), diagonal (fast_align), jumps (HMM).

A distortion model expands its few parameters into one table for all sentence lengths at hand, which a kernel reads, and
re-estimates them from expected counts in the same layout. No M-step lowers the likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np

from firth.alignment import em_kernels, hmm_kernels
from firth.alignment.bitext import Bitext
from firth.config.schema import Aligner

Arrays = dict[str, np.ndarray]
M_STEP_ROUNDS = 8  # of the iterative M-step
MAX_TENSION = 100.0  # of the diagonal model
MIN_JUMP_WEIGHT = 1e-7  # so that no jump becomes impossible


class DistortionGrid(NamedTuple):
    """The layout of a distortion table: for each shape (pair of lengths) a matrix of lines and columns, flattened."""

    shapes: np.ndarray  # (shapes, 2): source and target lengths
    shape_of_pair: np.ndarray  # (pairs,): the shape of each pair
    offsets: np.ndarray  # (shapes + 1,): where the cells of each shape begin
    shape: np.ndarray  # (cells,): the shape, …
    line: np.ndarray  # … the line …
    column: np.ndarray  # … and the column of each cell
    row: np.ndarray  # (cells,): the line, numbered over all shapes

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum the values of each row."""
        return np.bincount(self.row, values)


def build_grid(shapes: np.ndarray, shape_of_pair: np.ndarray, lines: np.ndarray, columns: np.ndarray) -> DistortionGrid:
    """Build the layout with the given numbers of lines and columns for each shape."""
    offsets, rows = _offsets(lines * columns), _offsets(lines)
    shape = np.repeat(np.arange(len(shapes)), lines * columns)
    line, column = np.divmod(np.arange(offsets[-1]) - offsets[shape], columns[shape])
    return DistortionGrid(shapes, shape_of_pair.reshape(-1), offsets, shape, line, column, rows[shape] + line)


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


class Distortion(Protocol):
    """The probability of the source position that a target word is aligned to."""

    kernels: ModuleType  # the compiled loops that read its table
    null: float  # the probability of NULL, where it is not in the table
    arrays: Arrays  # the parameters, float32

    def layout(self, bitext: Bitext) -> DistortionGrid:
        """Lay out the table for these pairs."""

    def initialise(self, grid: DistortionGrid) -> None:
        """Allocate the parameters for these cells."""

    def table(self, grid: DistortionGrid) -> np.ndarray:
        """The probability of each cell, float64."""

    def update(self, grid: DistortionGrid, counts: np.ndarray) -> None:
        """M-step: re-estimate the parameters from expected counts."""

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether these could be its parameters."""


class UniformDistortion:
    """Uniform over all source positions and NULL (IBM Model 1; Brown et al. 1993)."""

    kernels, null = em_kernels, 0.0

    def __init__(self, config: Aligner) -> None:
        self.arrays: Arrays = {}

    def layout(self, bitext: Bitext) -> DistortionGrid:
        """A line for each target word; its columns are NULL and the source words."""
        lengths = np.stack([bitext.source.lengths, bitext.target.lengths], 1)
        shapes, shape_of_pair = np.unique(lengths, axis=0, return_inverse=True)
        return build_grid(shapes, shape_of_pair, shapes[:, 1], shapes[:, 0] + 1)

    def initialise(self, grid: DistortionGrid) -> None:
        """No parameters."""

    def table(self, grid: DistortionGrid) -> np.ndarray:
        """The uniform probability, one over the number of columns."""
        return 1.0 / (grid.shapes[grid.shape, 0] + 1)

    def update(self, grid: DistortionGrid, counts: np.ndarray) -> None:
        """No parameters."""

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the names, shapes and types are those of the parameters here."""
        return _forms(arrays) == _forms(self.arrays)


def _forms(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[Any, ...]]:
    return {name: (array.shape, array.dtype) for name, array in arrays.items()}


class TableDistortion(UniformDistortion):
    """A table a(i | j, I, J) of source positions given target position and lengths (IBM Model 2; Brown et al. 1993)."""

    def __init__(self, config: Aligner) -> None:
        self.arrays = {"shapes": np.empty((0, 2), np.int32), "positions": np.empty(0, np.float32)}

    def initialise(self, grid: DistortionGrid) -> None:
        """Initialise to the uniform distribution."""
        self.arrays |= {"shapes": grid.shapes.astype(np.int32), "positions": super().table(grid).astype(np.float32)}

    def table(self, grid: DistortionGrid) -> np.ndarray:
        """The trained probabilities; uniform for pairs of lengths not seen in training."""
        table, known_shapes = super().table(grid), self.arrays["shapes"]
        starts = _offsets(known_shapes[:, 1] * (known_shapes[:, 0].astype(np.int64) + 1))
        start_of_shape = {
            tuple(shape): start for shape, start in zip(known_shapes.tolist(), starts.tolist(), strict=False)
        }
        for number, shape in enumerate(grid.shapes.tolist()):
            if tuple(shape) in start_of_shape:
                low, high = grid.offsets[number : number + 2]
                first = start_of_shape[tuple(shape)]
                table[low:high] = self.arrays["positions"][first : first + high - low]
        return table

    def update(self, grid: DistortionGrid, counts: np.ndarray) -> None:
        """Relative frequencies of the expected counts."""
        self.arrays["positions"][:] = counts / grid.sums(counts)[grid.row]

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether there is a probability for each cell of the shapes."""
        if set(arrays) != set(self.arrays):
            return False
        shapes, positions = arrays["shapes"], arrays["positions"]
        if shapes.ndim != 2 or shapes.shape[1] != 2 or shapes.dtype != np.int32 or shapes.min(initial=1) < 1:
            return False
        cells = int((shapes[:, 1] * (shapes[:, 0].astype(np.int64) + 1)).sum())
        return positions.dtype == np.float32 and positions.shape == (cells,)


class DiagonalDistortion(UniformDistortion):
    """fast_align's diagonal distortion (Dyer et al. 2013): ∝ exp(−tension · |i/I − j/J|), fixed probability of NULL."""

    def __init__(self, config: Aligner) -> None:
        self.null_probability = config.null_probability
        self.arrays = {"tension": np.array([config.tension], np.float32)}

    def table(self, grid: DistortionGrid) -> np.ndarray:
        """Weights by the distance from the diagonal, each line normalised to the mass that NULL leaves."""
        weights = _diagonal_weights(_diagonal_distances(grid), grid, float(self.arrays["tension"][0]))
        table = (1.0 - self.null_probability) * weights / grid.sums(weights)[grid.row]
        table[grid.column == 0] = self.null_probability
        return table

    def update(self, grid: DistortionGrid, counts: np.ndarray) -> None:
        """Find the tension whose expected distance from the diagonal equals the counted one: bracketed Newton steps."""
        distances, counts = _diagonal_distances(grid), np.where(grid.column, counts, 0.0)
        row_counts, counted_distance = grid.sums(counts), float(counts @ distances)
        low, high, tension = 0.0, MAX_TENSION, float(self.arrays["tension"][0])
        for _ in range(4 * M_STEP_ROUNDS):
            weights = _diagonal_weights(distances, grid, tension)
            expected = row_counts[grid.row] * weights / grid.sums(weights)[grid.row]
            excess = float(expected @ distances) - counted_distance  # decreases with the tension
            means = grid.sums(expected * distances) / np.maximum(row_counts, em_kernels.MIN_PROBABILITY)
            variance = float(expected @ (distances - means[grid.row]) ** 2)
            low, high = (tension, high) if excess > 0 else (low, tension)
            step = tension + excess / max(variance, 1e-12)
            tension = step if low < step < high else (low + high) / 2
            if abs(excess) <= 1e-9 * max(counted_distance, 1.0):
                break
        self.arrays["tension"][0] = tension


def _diagonal_distances(grid: DistortionGrid) -> np.ndarray:
    """The distance of each cell from the diagonal, |i/I − j/J|."""
    source_length, target_length = grid.shapes[grid.shape].T
    return np.abs(grid.column / source_length - (grid.line + 1) / target_length)


def _diagonal_weights(distances: np.ndarray, grid: DistortionGrid, tension: float) -> np.ndarray:
    return np.where(grid.column, np.exp(-tension * distances), 0.0)


class HmmDistortion:
    """HMM transitions (Vogel et al. 1996): one weight for each jump width from the previously aligned source position.

    Initial positions have weights of their own, and so has the end, by its distance. Jumps wider than the maximum share
    a weight, and so do late initial positions and early ends.
    """

    kernels = hmm_kernels

    def __init__(self, config: Aligner) -> None:
        self.null, self.max_jump = config.null_probability, config.max_jump
        self.arrays = {"jumps": np.ones(4 * self.max_jump + 3, np.float32)}  # −max … max; initial positions; ends

    def layout(self, bitext: Bitext) -> DistortionGrid:
        """A line for each previous source position (0: none yet); its columns are the end and the source words."""
        lengths, shape_of_pair = np.unique(bitext.source.lengths, return_inverse=True)
        return build_grid(np.stack([lengths, lengths], 1), shape_of_pair, lengths + 1, lengths + 1)

    def initialise(self, grid: DistortionGrid) -> None:
        """The parameters do not depend on the data."""

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the names, shapes and types are those of the parameters here."""
        return _forms(arrays) == _forms(self.arrays)

    def table(self, grid: DistortionGrid) -> np.ndarray:
        """The transition probabilities: the weights, normalised within each line."""
        weights = self.arrays["jumps"].astype(np.float64)[self._weight_index(grid)]
        return weights / grid.sums(weights)[grid.row]

    def update(self, grid: DistortionGrid, counts: np.ndarray) -> None:
        """Fit the weights by minorisation–maximisation (Hunter 2004): counted over expected, a few rounds."""
        weight_index, weights = self._weight_index(grid), self.arrays["jumps"].astype(np.float64)
        size, row_counts = len(weights), grid.sums(counts)
        counted = np.bincount(weight_index, counts, size)
        for _ in range(M_STEP_ROUNDS):
            scale = row_counts / grid.sums(weights[weight_index])
            expected = np.bincount(weight_index, scale[grid.row], size)
            weights = np.where(expected > 0, counted / np.maximum(expected, em_kernels.MIN_PROBABILITY), weights)
        self.arrays["jumps"][:] = np.maximum(weights / weights.sum(), MIN_JUMP_WEIGHT)

    def _weight_index(self, grid: DistortionGrid) -> np.ndarray:
        """The index of the weight of each cell."""
        widths = np.clip(grid.column - grid.line, -self.max_jump, self.max_jump) + self.max_jump
        starts = 2 * self.max_jump + np.minimum(grid.column, self.max_jump + 1)  # columns from 1
        ends = 3 * self.max_jump + 2 + np.minimum(grid.shapes[grid.shape, 0] - grid.line, self.max_jump)
        return np.where(grid.column, np.where(grid.line, widths, starts), ends)


DISTORTIONS: dict[str, type[Distortion]] = {
    "uniform": UniformDistortion,
    "table": TableDistortion,
    "diagonal": DiagonalDistortion,
    "hmm": HmmDistortion,
}
