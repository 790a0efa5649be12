"""How probable the place of a word is: all alike (Model 1), by a table (Model 2), near the diagonal, by jumps (HMM).

A placing turns its few parameters into one table for all shapes of pairs at hand, which a kernel reads, and learns them
from expected counts in the same layout. Each M-step raises the likelihood, or leaves it.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np

from firth.config.schema import Aligner
from firth.counts.alignment import chain, kernels
from firth.counts.alignment.bitext import Bitext

Arrays = dict[str, np.ndarray]
ROUNDS = 8  # of finding the best parameters for given counts
STEEPEST = 100.0  # of the diagonal
LEAST = 1e-7  # weight of a jump


class Grid(NamedTuple):
    """The cells of a table: for each shape some lines of some columns."""

    shapes: np.ndarray  # (shapes, 2): numbers of source and target words
    of: np.ndarray  # (pairs,): the shape of each pair
    borders: np.ndarray  # (shapes + 1,)
    shape: np.ndarray  # (cells,): of which shape …
    line: np.ndarray  # … line …
    column: np.ndarray  # … and column a cell is
    row: np.ndarray  # (cells,): lines numbered over all shapes

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of each row."""
        return np.bincount(self.row, values)


def grid(shapes: np.ndarray, of: np.ndarray, lines: np.ndarray, columns: np.ndarray) -> Grid:
    """A table with so many lines and columns for each shape."""
    borders, rows = _borders(lines * columns), _borders(lines)
    shape = np.repeat(np.arange(len(shapes)), lines * columns)
    line, column = np.divmod(np.arange(borders[-1]) - borders[shape], columns[shape])
    return Grid(shapes, of.reshape(-1), borders, shape, line, column, rows[shape] + line)


def _borders(sizes: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


class Placing(Protocol):
    """Where the source of a target word may stand."""

    loops: ModuleType  # the kernels that read its table
    null: float  # the share of words from NULL, where the table does not tell
    arrays: Arrays  # the parameters, float32

    def lay(self, bitext: Bitext) -> Grid:
        """The layout of its table for these pairs."""

    def begin(self, cells: Grid) -> None:
        """Make room for what is to be learned of these cells."""

    def table(self, cells: Grid) -> np.ndarray:
        """(cells,) float64."""

    def learn(self, cells: Grid, counts: np.ndarray) -> None:
        """Change the parameters to suit expected counts."""


class Even:
    """Every place alike, that of NULL too (Model 1; Brown et al. 1993)."""

    loops, null = kernels, 0.0

    def __init__(self, config: Aligner) -> None:
        self.arrays: Arrays = {}

    def lay(self, bitext: Bitext) -> Grid:
        """For each target word a line of NULL and the source words."""
        lengths = np.stack([bitext.left.lengths, bitext.right.lengths], 1)
        shapes, of = np.unique(lengths, axis=0, return_inverse=True)
        return grid(shapes, of, shapes[:, 1], shapes[:, 0] + 1)

    def begin(self, cells: Grid) -> None:
        """It has nothing to learn."""

    def table(self, cells: Grid) -> np.ndarray:
        """One over the number of columns."""
        return 1.0 / (cells.shapes[cells.shape, 0] + 1)

    def learn(self, cells: Grid, counts: np.ndarray) -> None:
        """Nothing is learned."""


class Table(Even):
    """A probability for each place, given the word's own place and both lengths (Model 2; Brown et al. 1993)."""

    def __init__(self, config: Aligner) -> None:
        self.arrays = {"shapes": np.empty((0, 2), np.int32), "places": np.empty(0, np.float32)}

    def begin(self, cells: Grid) -> None:
        """Every place alike."""
        self.arrays |= {"shapes": cells.shapes.astype(np.int32), "places": super().table(cells).astype(np.float32)}

    def table(self, cells: Grid) -> np.ndarray:
        """What was learned; for lengths that were not met, every place alike."""
        found, known = super().table(cells), self.arrays["shapes"]
        starts = _borders(known[:, 1] * (known[:, 0].astype(np.int64) + 1))
        at = {tuple(shape): start for shape, start in zip(known.tolist(), starts.tolist(), strict=False)}
        for number, shape in enumerate(cells.shapes.tolist()):
            if tuple(shape) in at:
                low, high = cells.borders[number : number + 2]
                begin = at[tuple(shape)]
                found[low:high] = self.arrays["places"][begin : begin + high - low]
        return found

    def learn(self, cells: Grid, counts: np.ndarray) -> None:
        """Shares of the counts."""
        self.arrays["places"][:] = counts / cells.sums(counts)[cells.row]


class Diagonal(Even):
    """Places near the diagonal, by one number (Dyer et al. 2013): exp(−tension · |i/I − j/J|), and a share for NULL."""

    def __init__(self, config: Aligner) -> None:
        self.share = config.null
        self.arrays = {"tension": np.array([config.tension], np.float32)}

    def table(self, cells: Grid) -> np.ndarray:
        """The same weights in each line, scaled to what NULL leaves."""
        weights = _weights(_gaps(cells), cells, float(self.arrays["tension"][0]))
        found = (1.0 - self.share) * weights / cells.sums(weights)[cells.row]
        found[cells.column == 0] = self.share
        return found

    def learn(self, cells: Grid, counts: np.ndarray) -> None:
        """The tension whose expected distance from the diagonal is the one counted: Newton's steps between bounds."""
        gaps, counts = _gaps(cells), np.where(cells.column, counts, 0.0)
        visits, aim = cells.sums(counts), float(counts @ gaps)
        low, high, tension = 0.0, STEEPEST, float(self.arrays["tension"][0])
        for _ in range(4 * ROUNDS):
            weights = _weights(gaps, cells, tension)
            shares = visits[cells.row] * weights / cells.sums(weights)[cells.row]
            over = float(shares @ gaps) - aim  # falls with the tension
            means = cells.sums(shares * gaps) / np.maximum(visits, kernels.LEAST)
            spread = float(shares @ (gaps - means[cells.row]) ** 2)
            low, high = (tension, high) if over > 0 else (low, tension)
            step = tension + over / max(spread, 1e-12)
            tension = step if low < step < high else (low + high) / 2
            if abs(over) <= 1e-9 * max(aim, 1.0):
                break
        self.arrays["tension"][0] = tension


def _gaps(cells: Grid) -> np.ndarray:
    """How far each cell is from the diagonal, both texts being of length 1."""
    left, right = cells.shapes[cells.shape].T
    return np.abs(cells.column / left - (cells.line + 1) / right)


def _weights(gaps: np.ndarray, cells: Grid, tension: float) -> np.ndarray:
    return np.where(cells.column, np.exp(-tension * gaps), 0.0)


class Jumps:
    """By the distance from the source word used last (Vogel et al. 1996): one weight for each width of a jump.

    First places have weights of their own, and so has the end, by its distance. Wide jumps share a weight, and so do
    late first places and early ends.
    """

    loops = chain

    def __init__(self, config: Aligner) -> None:
        self.null, self.reach = config.null, config.jump
        self.arrays = {"jumps": np.ones(4 * self.reach + 3, np.float32)}  # −jump … jump; first places; ends

    def lay(self, bitext: Bitext) -> Grid:
        """For the word used last, none first, a line of the end and the source words."""
        lengths, of = np.unique(bitext.left.lengths, return_inverse=True)
        return grid(np.stack([lengths, lengths], 1), of, lengths + 1, lengths + 1)

    def begin(self, cells: Grid) -> None:
        """There is room already."""

    def table(self, cells: Grid) -> np.ndarray:
        """The weights of a line, made to add up to one."""
        weights = self.arrays["jumps"].astype(np.float64)[self._kinds(cells)]
        return weights / cells.sums(weights)[cells.row]

    def learn(self, cells: Grid, counts: np.ndarray) -> None:
        """Weights by minorisation (Hunter 2004): what was counted over what was to be expected, a few times."""
        kinds, weights = self._kinds(cells), self.arrays["jumps"].astype(np.float64)
        size, visits = len(weights), cells.sums(counts)
        found = np.bincount(kinds, counts, size)
        for _ in range(ROUNDS):
            chance = visits / cells.sums(weights[kinds])
            could = np.bincount(kinds, chance[cells.row], size)
            weights = np.where(could > 0, found / np.maximum(could, kernels.LEAST), weights)
        self.arrays["jumps"][:] = np.maximum(weights / weights.sum(), LEAST)

    def _kinds(self, cells: Grid) -> np.ndarray:
        """Which weight a cell has."""
        widths = np.clip(cells.column - cells.line, -self.reach, self.reach) + self.reach
        starts = 2 * self.reach + np.minimum(cells.column, self.reach + 1)  # columns from 1
        ends = 3 * self.reach + 2 + np.minimum(cells.shapes[cells.shape, 0] - cells.line, self.reach)
        return np.where(cells.column, np.where(cells.line, widths, starts), ends)


PLACINGS: dict[str, type[Placing]] = {"even": Even, "table": Table, "diagonal": Diagonal, "jumps": Jumps}
