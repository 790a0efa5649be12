"""The word-context co-occurrence matrix: exact counts in a window, row by row, in bounded memory.

The positions of a word are listed, its neighbours are summed in one dense array of vocabulary size, and the nonzero
cells are written out: they come out sorted, without hashing or merging. Rows are divided among threads in chunks whose
positions and cells fit the memory limit. Sums are fixed-point integers, so their order does not matter: any number of
threads and any memory limit gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from firth.errors import FirthError, unknown
from firth.jit import default_threads, kernel, run_in_order
from firth.runs import atomic_files

MEMORY_LIMIT = 1 << 30  # bytes
MAX_WINDOW = 1023  # words on one side; a listed position stores its window in ten bits for each side
_CELL_BYTES, _POSITION_BYTES = 20, 8  # bytes of a cell (column and sum, row and weight) and of a listed position
_CHUNKS_PER_THREAD = 4  # so that no thread waits long for the last one
Context = Literal["symmetric", "left", "right"]
CONTEXTS = {"symmetric": (True, True), "left": (True, False), "right": (False, True)}
DistanceWeighting = Literal["none", "inverse"]
DISTANCE_WEIGHTINGS = {"none": lambda distance: 1.0, "inverse": lambda distance: 1.0 / distance}


@dataclass(frozen=True, eq=False)
class CooccurrenceCounts:
    """The nonzero cells in coordinate (COO) format, sorted by row, then by column; the arrays may be memory-mapped."""

    rows: np.ndarray  # int32
    cols: np.ndarray  # int32
    weights: np.ndarray  # float32 or float64
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.rows)

    def to_csr(self):
        """The counts as a `scipy.sparse.csr_array`."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.rows, np.arange(self.vocabulary_size + 1))
        return csr_array((self.weights, self.cols, starts), shape=(self.vocabulary_size, self.vocabulary_size))


class _Plan(NamedTuple):
    """What every chunk of rows needs to know."""

    ids: np.ndarray  # int32, documents concatenated
    starts: np.ndarray  # int64, with the end
    counts: np.ndarray  # (words,) int64: how often each word occurs
    increments: np.ndarray  # (window + 1,) int64: what a neighbour at each distance adds
    left: bool
    right: bool


def count_cooccurrences(
    ids: np.ndarray,
    starts: np.ndarray,
    vocabulary_size: int,
    *,
    window: int = 5,
    context: Context = "symmetric",
    distance_weighting: DistanceWeighting = "none",
    dtype: type = np.float32,
    memory_limit: int = MEMORY_LIMIT,
    threads: int = 0,
    folder: Path | None = None,
) -> CooccurrenceCounts:
    """Count how often each word occurs within `window` words of each other word in the same document.

    Rows are words, columns their neighbours in the context; negative ids are tokens without a word. `memory_limit` is
    bytes of work space; with a `folder`, the cells themselves are memory-mapped files there."""
    plan, unit = _make_plan(ids, starts, vocabulary_size, window, context, distance_weighting)
    threads = threads or default_threads()
    tasks = list(_row_chunks(plan, memory_limit // (threads + 1), threads))
    chunks = run_in_order(lambda rows: _count_chunk(plan, *rows), tasks, threads)
    parts = ((rows, cols, (sums / unit).astype(dtype)) for rows, cols, sums in chunks)
    columns = _concatenate(parts, dtype) if folder is None else _write_files(parts, dtype, folder)
    return CooccurrenceCounts(*columns, vocabulary_size)


def cooccurrence_matrix(ids: np.ndarray, starts: np.ndarray, vocabulary_size: int, **options):
    """The same counts as a float64 `scipy.sparse.csr_array`; the options are those of `count_cooccurrences`."""
    return count_cooccurrences(ids, starts, vocabulary_size, dtype=np.float64, **options).to_csr()


def _make_plan(
    ids: np.ndarray, starts: np.ndarray, vocabulary_size: int, window: int, context: str, distance_weighting: str
) -> tuple[_Plan, int]:
    if context not in CONTEXTS:
        raise unknown("context", context, CONTEXTS)
    if distance_weighting not in DISTANCE_WEIGHTINGS:
        raise unknown("distance weighting", distance_weighting, DISTANCE_WEIGHTINGS)
    if not 1 <= window <= MAX_WINDOW:
        raise FirthError(f"a window of {window} words", do=f"choose from 1 to {MAX_WINDOW}")
    ids, starts = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(starts, np.int64)
    counts = np.zeros(vocabulary_size, np.int64)
    if not len(starts) or starts[0] != 0 or starts[-1] != len(ids) or (np.diff(starts) < 0).any():
        do = "give ascending starts from 0 to the number of tokens"
        raise FirthError("the documents' starts do not fit the tokens", do=do)
    if not _count_words(ids, counts):
        what = f"a token id outside the vocabulary of {vocabulary_size} words"
        raise FirthError(what, do="encode the text with this vocabulary")
    unit = _fixed_point_unit(window, len(ids)) if distance_weighting == "inverse" else 1
    increments = [0, *(round(unit * DISTANCE_WEIGHTINGS[distance_weighting](d)) for d in range(1, window + 1))]
    return _Plan(ids, starts, counts, np.array(increments, np.int64), *CONTEXTS[context]), unit


def _fixed_point_unit(window: int, words: int) -> int:
    """The fixed-point scale: one at which every 1/d is an integer, or the largest at which no sum can overflow (then
    weights are within about 1e-8 of 1/d)."""
    whole = lcm(*range(1, window + 1))
    safe = (1 << 62) // max(1, 2 * words * (1 + window.bit_length()))  # bounds 1 + 1/2 + … + 1/window
    return whole if whole <= safe else 1 << min(40, safe.bit_length() - 1)


def _row_chunks(plan: _Plan, memory_limit: int, threads: int) -> Iterator[tuple[int, int]]:
    """Row ranges of about equal work whose positions and cells fit the memory limit, or of one row."""
    size, context_size = len(plan.counts), (plan.left + plan.right) * (len(plan.increments) - 1)
    max_cells = np.minimum(plan.counts * context_size, size)  # of each row
    space = np.cumsum(max_cells * _CELL_BYTES + plan.counts * _POSITION_BYTES)
    work = np.cumsum(plan.counts + 1)
    low = 0
    while low < size:
        done, used = (work[low - 1], space[low - 1]) if low else (0, 0)
        even = np.searchsorted(work, done + work[-1] / (threads * _CHUNKS_PER_THREAD))
        high = min(even, np.searchsorted(space, used + memory_limit, "right"), size)
        high = max(int(high), low + 1)
        yield low, high
        low = high


def _count_chunk(plan: _Plan, low: int, high: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells of a range of rows: rows, columns, sums."""
    size, context_size = len(plan.counts), (plan.left + plan.right) * (len(plan.increments) - 1)
    max_cells = int(np.minimum(plan.counts[low:high] * context_size, size).sum())
    cols, sums = np.empty(max_cells, np.int32), np.empty(max_cells, np.int64)  # unwritten pages take no memory
    ends = np.zeros(high - low, np.int64)
    single = high - low == 1  # the positions of one frequent word are not listed but found by scanning the text
    positions = np.empty(0 if single else plan.counts[low:high].sum(), np.int64)
    bitmap, summary = np.zeros(size // 64 + 1, np.uint64), np.zeros(size // 4096 + 1, np.uint64)
    row, touched = np.zeros(size, np.int64), np.zeros(size + 1, np.int32)
    _count_rows(*plan, low, high, positions, row, touched, bitmap, summary, cols, sums, ends)
    used = ends[-1]
    return np.repeat(np.arange(low, high, dtype=np.int32), np.diff(ends, prepend=0)), cols[:used], sums[:used]


def _concatenate(parts: Iterator[tuple[np.ndarray, ...]], dtype: type) -> list[np.ndarray]:
    empty = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, dtype)
    arrays = [empty, *((rows, cols.copy(), weights) for rows, cols, weights in parts)]
    return [np.concatenate(column) for column in zip(*arrays, strict=True)]


def _write_files(parts: Iterator[tuple[np.ndarray, ...]], dtype: type, folder: Path) -> list[np.ndarray]:
    atomic_files.make_folder(folder)
    names, dtypes = ("rows.bin", "cols.bin", "weights.bin"), (np.int32, np.int32, dtype)
    total = 0
    with atomic_files.explain_errors(folder):
        for name in names:
            (folder / name).unlink(missing_ok=True)
            (folder / name).open("xb").close()
        for part in parts:
            total += len(part[0])
            for name, column in zip(names, part, strict=True):
                with (folder / name).open("ab") as file:
                    column.tofile(file)
    files = zip(names, dtypes, strict=True)
    return [np.memmap(folder / n, d, "r", shape=(total,)) if total else np.empty(0, d) for n, d in files]


# --- kernels --------------------------------------------------------------------------------------------------------

_ZERO, _ONE, _SIX, _LOW, _TOP = (np.uint64(n) for n in (0, 1, 6, 63, 58))
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # all windows of six bits differ, so they identify a single bit
_LOWEST_BIT = np.zeros(64, np.int64)
_LOWEST_BIT[[((int(_DE_BRUIJN) << bit) & (2**64 - 1)) >> 58 for bit in range(64)]] = np.arange(64)


@kernel
def _count_words(ids, counts):
    """Count every word; False if an id is too large."""
    for i in range(len(ids)):
        if ids[i] >= len(counts):
            return False
        if ids[i] >= 0:
            counts[ids[i]] += 1
    return True


@kernel
def _list_positions(ids, starts, low, high, window, ends, positions):
    """The positions of words low..high, grouped by word; each packed with its window to the left and to the right."""
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1] - 1
        for at in range(first, last + 1):
            word = ids[at]
            if low <= word < high:
                windows = (min(window, at - first) << 10) | min(window, last - at)
                positions[ends[word - low]] = (at << 20) | windows
                ends[word - low] += 1


@kernel
def _increment(column, amount, row, touched):
    """Add to one column of the row and list the column if it was zero; touched[0] is the length of the list."""
    if row[column] == 0:
        touched[0] += 1
        touched[touched[0]] = column
    row[column] += amount


@kernel
def _mark_columns(touched, bitmap, summary):
    """Sort the touched columns without comparing: one bit for each, and one summary bit for every 64 of those."""
    for i in range(1, touched[0] + 1):
        column = np.uint64(touched[i])
        bitmap[touched[i] >> 6] |= _ONE << (column & _LOW)
        summary[touched[i] >> 12] |= _ONE << ((column >> _SIX) & _LOW)
    touched[0] = 0


@kernel
def _add_neighbours(ids, at, left, right, increments, row, touched):
    """Add the neighbours of one position to the row."""
    for distance in range(1, left + 1):
        if ids[at - distance] >= 0:
            _increment(ids[at - distance], increments[distance], row, touched)
    for distance in range(1, right + 1):
        if ids[at + distance] >= 0:
            _increment(ids[at + distance], increments[distance], row, touched)


@kernel
def _add_all_neighbours(ids, starts, word, increments, left, right, row, touched):
    """Add the neighbours of every position of one word, found by scanning the text."""
    window = len(increments) - 1
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1] - 1
        for at in range(first, last + 1):
            if ids[at] == word:
                before, after = min(window, at - first) * left, min(window, last - at) * right
                _add_neighbours(ids, at, before, after, increments, row, touched)


@kernel
def _write_row(row, touched, bitmap, summary, cols, sums, used):
    """Write the row's cells in order of their columns and reset the row to zero; returns the number of cells so far."""
    _mark_columns(touched, bitmap, summary)
    for top in range(len(summary)):
        groups = summary[top]
        summary[top] = _ZERO
        while groups:
            group = top * 64 + _LOWEST_BIT[((groups & (~groups + _ONE)) * _DE_BRUIJN) >> _TOP]
            groups &= groups - _ONE
            bits = bitmap[group]
            bitmap[group] = _ZERO
            while bits:
                column = group * 64 + _LOWEST_BIT[((bits & (~bits + _ONE)) * _DE_BRUIJN) >> _TOP]
                bits &= bits - _ONE
                cols[used], sums[used] = column, row[column]
                row[column] = 0
                used += 1
    return used


@kernel
def _count_rows(
    ids, starts, counts, increments, left, right, low, high, positions, row, touched, bitmap, summary, cols, sums, ends
):
    """The cells of rows low..high: columns, sums, and where each row ends."""
    if high - low == 1:
        _add_all_neighbours(ids, starts, low, increments, left, right, row, touched)
        ends[0] = _write_row(row, touched, bitmap, summary, cols, sums, 0)
        return
    edges = np.zeros(high - low, np.int64)
    for word in range(low + 1, high):
        edges[word - low] = edges[word - low - 1] + counts[word - 1]
    _list_positions(ids, starts, low, high, len(increments) - 1, edges, positions)
    begin = used = 0
    for word in range(low, high):
        for i in range(begin, edges[word - low]):
            at, windows = positions[i] >> 20, positions[i]
            _add_neighbours(
                ids, at, ((windows >> 10) & 1023) * left, (windows & 1023) * right, increments, row, touched
            )
        begin = edges[word - low]
        used = _write_row(row, touched, bitmap, summary, cols, sums, used)
        ends[word - low] = used
