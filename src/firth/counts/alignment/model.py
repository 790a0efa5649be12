"""Models of one direction, P(right text | left text), and the training of both directions together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firth.config.schema import Aligner
from firth.counts.alignment import kernels
from firth.counts.alignment.bitext import Bitext
from firth.counts.alignment.lexicon import Lexicon, gather
from firth.counts.alignment.placing import PLACINGS, Arrays, Even, Grid, Placing
from firth.counts.compiled import run_in_order

PIECES = 8  # of a pass, whatever the number of threads: their counts are added in order, so that sums are the same
PIECE = 50_000  # cells of a piece, at least
KEPT = 1 << 28  # cells whose places in the table are kept (4 bytes each); of larger texts they are found anew


class Loss(NamedTuple):
    """Target words, and minus the logarithm of their probability."""

    count: int
    total: float


@dataclass(eq=False)
class Texts:
    """Pairs of texts that meet a lexicon; each has words on both sides."""

    bitext: Bitext
    lexicon: Lexicon

    @cached_property
    def cells(self) -> np.ndarray:
        """(pairs + 1,) where the cells of each pair begin."""
        sizes = (self.bitext.left.lengths + 1) * self.bitext.right.lengths
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """Pairs from … to, about equally many cells in each."""
        count = min(PIECES, len(self.bitext), int(self.cells[-1]) // PIECE + 1)
        aims = np.linspace(0, self.cells[-1], count + 1)[1:-1]
        borders = np.unique([0, *np.searchsorted(self.cells, aims), len(self.bitext)])
        return [(int(low), int(high)) for low, high in pairwise(borders)]

    def places(self, low: int, high: int) -> np.ndarray:
        """Where the cells of some pairs stand in the lexicon."""
        if self.cells[-1] <= KEPT:
            return self._kept[self.cells[low] : self.cells[high]]
        part = np.arange(len(self.bitext))
        return Texts(self.bitext.chosen((part >= low) & (part < high)), self.lexicon)._kept

    @cached_property
    def _kept(self) -> np.ndarray:
        left, right, lexicon = self.bitext.left, self.bitext.right, self.lexicon
        slots, places = np.full(lexicon.null, -1, np.int32), np.empty(self.cells[-1], np.int32)
        text_of = np.repeat(np.arange(len(self.bitext)), left.lengths)
        texts = np.argsort(left.ids, kind="stable"), left.ids, left.starts, text_of, right.ids, right.starts
        kernels.find(lexicon.starts, lexicon.targets, *texts, self.cells, slots, places)
        return places


class Direction:
    """P(right text | left text), by a lexicon and a placing."""

    def __init__(self, lexicon: Lexicon, placing: Placing) -> None:
        self.lexicon, self.placing = lexicon, placing

    def texts(self, bitext: Bitext) -> Texts:
        """Pairs of texts, made ready for the methods below."""
        return Texts(bitext, self.lexicon)

    def loss(self, texts: Texts, threads: int = 1) -> Loss:
        """Of the right texts, given the left ones."""
        nats = sum(run_in_order(lambda call: call.expect().nats, list(self.calls(texts)), threads))
        return Loss(len(texts.bitext.right.ids), float(nats))

    def posteriors(self, texts: Texts) -> list[np.ndarray]:
        """(right words, 1 + left words) of each pair: which word, or none (column 0), a word comes from."""
        found = np.concatenate([np.empty(0), *(call.expect().cells for call in self.calls(texts))])
        rows = np.split(found, texts.cells[1:-1])
        return [row.reshape(-1, length + 1) for row, length in zip(rows, texts.bitext.left.lengths, strict=False)]

    def best(self, texts: Texts, threads: int = 1) -> np.ndarray:
        """(right words,) int32: the left word that each comes from in the most probable alignment; −1: none."""
        chosen = np.zeros(len(texts.bitext.right.ids), np.int32)
        for _ in run_in_order(lambda call: call.best(chosen), list(self.calls(texts)), threads):
            pass
        return chosen - 1

    def calls(self, texts: Texts, grid: Grid | None = None) -> Iterator[Call]:
        """The pieces of the work; a grid that is at hand need not be laid anew."""
        grid = self.placing.lay(texts.bitext) if grid is None else grid
        table = self.placing.table(grid)
        return (Call(self, texts, grid, table, *piece) for piece in texts.pieces)


class Expected(NamedTuple):
    """What is expected of a piece, given the texts."""

    nats: float
    places: np.ndarray  # of the cells in the lexicon
    cells: np.ndarray  # the probability of each
    moves: np.ndarray  # counts of the placing's table


class Call(NamedTuple):
    """A piece of work for a kernel: some pairs of texts, and the model."""

    model: Direction
    texts: Texts
    grid: Grid
    table: np.ndarray
    low: int
    high: int

    def expect(self) -> Expected:
        """The probabilities of all cells."""
        cells = np.empty(self.texts.cells[self.high] - self.texts.cells[self.low])
        moves, given = np.zeros(self.grid.borders[-1]), self._given()
        return Expected(self.model.placing.loops.posteriors(*given, cells, moves), given.places, cells, moves)

    def best(self, chosen: np.ndarray) -> None:
        """Put the most probable columns into their places."""
        self.model.placing.loops.best(*self._given(), chosen)

    def _given(self) -> _Given:
        left, right, lexicon = self.texts.bitext.left, self.texts.bitext.right, self.model.lexicon
        places = self.texts.places(self.low, self.high)
        texts = left.ids, left.starts, right.starts, self.low, self.high, places
        table = self.table, self.grid.borders, self.grid.of, self.model.placing.null
        return _Given(*texts, lexicon.chances, lexicon.rests, *table)


class _Given(NamedTuple):
    """The first arguments of every kernel."""

    left: np.ndarray
    left_starts: np.ndarray
    right_starts: np.ndarray
    low: int
    high: int
    places: np.ndarray
    chances: np.ndarray
    rests: np.ndarray
    table: np.ndarray
    borders: np.ndarray
    shapes: np.ndarray
    null_share: float


# --- training -----------------------------------------------------------------------------------------------------


class _Side:
    """A direction while it is learned; with all places alike first."""

    def __init__(self, bitext: Bitext, vocabulary: int, config: Aligner) -> None:
        lexicon, placing, even = gather(bitext, vocabulary, config.same), PLACINGS[config.places](config), Even(config)
        self.texts, self.lexicon, self.model = Texts(bitext, lexicon), lexicon, Direction(lexicon, placing)
        self._ways = {False: (self.model, placing.lay(bitext)), True: (Direction(lexicon, even), even.lay(bitext))}
        placing.begin(self._ways[False][1])

    def calls(self, first: bool) -> Iterator[Call]:
        model, grid = self._ways[first]
        return model.calls(self.texts, grid)

    def learn(self, first: bool, found: _Sums, config: Aligner) -> None:
        """The M-step."""
        model, grid = self._ways[first]
        self.lexicon.update(found.counts, config.smoothing, config.strength)
        model.placing.learn(grid, found.moves)


@dataclass
class _Sums:
    """Expected counts of one direction."""

    nats: float
    counts: np.ndarray  # of the lexicon's cells
    moves: np.ndarray  # of the placing's cells

    def add(self, other: _Sums) -> None:
        self.nats += other.nats
        self.counts += other.counts
        self.moves += other.moves


class Training:
    """Both directions while they are learned: so many passes of Model 1 first, then their own."""

    def __init__(self, bitext: Bitext, vocabulary: int, config: Aligner) -> None:
        self.bitext, self.config = bitext, config
        self._sides = [_Side(text, vocabulary, config) for text in (bitext, bitext.turned)]
        self._sides[1].texts.pieces = self._sides[0].texts.pieces  # cut alike, so that both can agree
        self.models = tuple(side.model for side in self._sides)

    def work(self, epoch: int, threads: int) -> Loss:
        """One pass of EM over both directions; their loss before it. Any number of threads gives the same bytes."""
        first, sums = epoch < self.config.first, None
        pieces = list(zip(*(side.calls(first) for side in self._sides), strict=True))
        for found in run_in_order(self._expect, pieces, threads):
            if sums is None:
                sums = found
            else:
                for total, part in zip(sums, found, strict=True):
                    total.add(part)
        for side, total in zip(self._sides, sums, strict=True):
            side.learn(first, total, self.config)
        return Loss(len(self.bitext.left.ids) + len(self.bitext.right.ids), sum(total.nats for total in sums))

    def _expect(self, calls: tuple[Call, Call]) -> list[_Sums]:
        """The E-step of a piece."""
        found = [call.expect() for call in calls]
        if self.config.agree:
            pairs, sides = slice(calls[0].low, calls[0].high), (self.bitext.left, self.bitext.right)
            kernels.agree(*(one.cells for one in found), *(side.lengths[pairs] for side in sides))
        sums = []
        for call, one in zip(calls, found, strict=True):
            counts = np.zeros(len(call.model.lexicon.targets))
            kernels.tally(one.places, one.cells, counts)
            sums.append(_Sums(one.nats, counts, one.moves))
        return sums

    @property
    def arrays(self) -> Arrays:
        """All that passes change, of both directions."""
        found = {}
        for name, side in zip(("forward", "backward"), self._sides, strict=True):
            own = {"chances": side.lexicon.chances, "rests": side.lexicon.rests, **side.model.placing.arrays}
            found |= {f"{name}.{key}": value for key, value in own.items()}
        return found
