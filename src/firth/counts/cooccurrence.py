"""Which words stand near which, and how often: exact counts, row by row, in bounded memory.

The places of a word are listed, its neighbours are added up in one array as long as the vocabulary, and what is not
zero is written out: cells come out sorted, nothing is hashed and nothing has to be merged. Rows are shared out among
threads in stretches whose lists and cells fit the limit. Sums are whole numbers, so their order does not matter: any
number of threads and any limit gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from firth.counts.compiled import default_threads, kernel, run_in_order
from firth.errors import FirthError, unknown
from firth.runs import files

LIMIT = 1 << 30  # bytes
LONGEST = 1023  # places on one side; a place keeps how far its document reaches in ten bits each way
_CELL, _PLACE = 20, 8  # bytes of a cell (column and sum, row and weight) and of a listed place
_TASKS = 4  # stretches of rows for each thread, so that none waits long for the last
Side = Literal["both", "left", "right"]
SIDES = {"both": (True, True), "left": (True, False), "right": (False, True)}
Distance = Literal["none", "inverse"]
DISTANCES = {"none": lambda distance: 1.0, "inverse": lambda distance: 1.0 / distance}


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that are not zero, by row, then by column; the arrays may be memory-mapped."""

    rows: np.ndarray  # int32
    cols: np.ndarray  # int32
    weights: np.ndarray  # float32 or float64
    size: int  # words

    def __len__(self) -> int:
        return len(self.rows)

    def matrix(self):
        """The same as a sparse matrix, a `scipy.sparse.csr_array`."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.rows, np.arange(self.size + 1))
        return csr_array((self.weights, self.cols, starts), shape=(self.size, self.size))


class Plan(NamedTuple):
    """What every stretch of rows needs to know."""

    ids: np.ndarray  # int32, documents back to back
    starts: np.ndarray  # int64, with the end
    places: np.ndarray  # (words,) int64: how often each word occurs
    sums: np.ndarray  # (window + 1,) int64: what a neighbour at each distance adds
    left: bool
    right: bool


def cells(
    ids: np.ndarray,
    starts: np.ndarray,
    size: int,
    *,
    window: int = 5,
    side: Side = "both",
    distance: Distance = "none",
    precision: type = np.float32,
    limit: int = LIMIT,
    threads: int = 0,
    place: Path | None = None,
) -> Cells:
    """How often each word has each other at most `window` places off in the same document, weighted by distance.

    A row is the word, a column its neighbour on that side; ids below 0 are places without a word. `limit` is bytes of
    work space; with a `place`, a folder, the cells themselves are not in memory either but in files, memory-mapped."""
    plan, unit = _planned(ids, starts, size, window, side, distance)
    threads = threads or default_threads()
    tasks = list(_stretches(plan, limit // (threads + 1), threads))
    done = run_in_order(lambda rows: _counted(plan, *rows), tasks, threads)
    parts = ((rows, cols, (sums / unit).astype(precision)) for rows, cols, sums in done)
    return Cells(*(_joined(parts, precision) if place is None else _written(parts, precision, place)), size)


def cooccurrence(ids: np.ndarray, starts: np.ndarray, size: int, **options):
    """The same counts as a sparse matrix of float64, a `scipy.sparse.csr_array`; the options are those of `cells`."""
    return cells(ids, starts, size, precision=np.float64, **options).matrix()


def _planned(ids: np.ndarray, starts: np.ndarray, size: int, window: int, side: str, distance: str) -> tuple[Plan, int]:
    for kind, name, known in (("side", side, SIDES), ("distance", distance, DISTANCES)):
        if name not in known:
            raise unknown(kind, name, known)
    if not 1 <= window <= LONGEST:
        raise FirthError(f"a window of {window} places", do=f"choose from 1 to {LONGEST}")
    ids, starts = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(starts, np.int64)
    places = np.zeros(size, np.int64)
    if not len(starts) or starts[0] != 0 or starts[-1] != len(ids) or (np.diff(starts) < 0).any():
        raise FirthError(
            "the documents' starts do not fit the words", do="give starts from 0 up to the number of words"
        )
    if not _tally(ids, places):
        raise FirthError(f"a word's number is not below {size}", do="encode the text with this vocabulary")
    unit = _unit(window, len(ids)) if distance == "inverse" else 1
    sums = [0, *(round(unit * DISTANCES[distance](d)) for d in range(1, window + 1))]
    return Plan(ids, starts, places, np.array(sums, np.int64), *SIDES[side]), unit


def _unit(window: int, words: int) -> int:
    """Parts of one in which every 1/d is whole, or as many that no sum can overflow (then within about 1e-8 of 1/d)."""
    whole = lcm(*range(1, window + 1))
    safe = (1 << 62) // max(1, 2 * words * (1 + window.bit_length()))  # 1 + 1/2 + … + 1/window is less than that
    return whole if whole <= safe else 1 << min(40, safe.bit_length() - 1)


def _stretches(plan: Plan, limit: int, threads: int) -> Iterator[tuple[int, int]]:
    """Rows in stretches of about equal work whose lists and cells take no more than the limit, or of one row."""
    size, reach = len(plan.places), (plan.left + plan.right) * (len(plan.sums) - 1)
    most = np.minimum(plan.places * reach, size)  # cells of a row
    space = np.cumsum(most * _CELL + plan.places * _PLACE)
    work = np.cumsum(plan.places + 1)
    low = 0
    while low < size:
        done, used = (work[low - 1], space[low - 1]) if low else (0, 0)
        share = np.searchsorted(work, done + work[-1] / (threads * _TASKS))
        high = min(share, np.searchsorted(space, used + limit, "right"), size)
        high = max(int(high), low + 1)
        yield low, high
        low = high


def _counted(plan: Plan, low: int, high: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells of a stretch of rows: rows, columns, sums."""
    size, reach = len(plan.places), (plan.left + plan.right) * (len(plan.sums) - 1)
    room = int(np.minimum(plan.places[low:high] * reach, size).sum())
    cols, sums = np.empty(room, np.int32), np.empty(room, np.int64)  # pages that are not written take no memory
    ends = np.zeros(high - low, np.int64)
    alone = high - low == 1  # a frequent word is not listed: its places are met one by one
    listed = np.empty(0 if alone else plan.places[low:high].sum(), np.int64)
    marks, tops = np.zeros(size // 64 + 1, np.uint64), np.zeros(size // 4096 + 1, np.uint64)
    row, touched = np.zeros(size, np.int64), np.zeros(size + 1, np.int32)
    _count_rows(*plan, low, high, listed, row, touched, marks, tops, cols, sums, ends)
    used = ends[-1]
    return np.repeat(np.arange(low, high, dtype=np.int32), np.diff(ends, prepend=0)), cols[:used], sums[:used]


def _joined(parts: Iterator[tuple[np.ndarray, ...]], precision: type) -> list[np.ndarray]:
    empty = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, precision)
    held = [empty, *((rows, cols.copy(), weights) for rows, cols, weights in parts)]
    return [np.concatenate(column) for column in zip(*held, strict=True)]


def _written(parts: Iterator[tuple[np.ndarray, ...]], precision: type, place: Path) -> list[np.ndarray]:
    files.make_folder(place)
    names, kinds = ("rows.bin", "cols.bin", "weights.bin"), (np.int32, np.int32, precision)
    total = 0
    with files.explained(place):
        for name in names:
            (place / name).write_bytes(b"")
        for part in parts:
            total += len(part[0])
            for name, column in zip(names, part, strict=True):
                with (place / name).open("ab") as file:
                    column.tofile(file)
    opened = zip(names, kinds, strict=True)
    return [np.memmap(place / n, k, "r", shape=(total,)) if total else np.empty(0, k) for n, k in opened]


# --- kernels --------------------------------------------------------------------------------------------------------

_ZERO, _ONE, _SIX, _LOW, _TOP = (np.uint64(n) for n in (0, 1, 6, 63, 58))
_MAGIC = np.uint64(0x03F79D71B4CB0A89)  # de Bruijn: any six bits in it differ, so they tell a lone bit's place
_LOWEST = np.zeros(64, np.int64)
_LOWEST[[((int(_MAGIC) << bit) & (2**64 - 1)) >> 58 for bit in range(64)]] = np.arange(64)


@kernel
def _tally(ids, places):
    """Count every word; False if there is a number that is too large."""
    for i in range(len(ids)):
        if ids[i] >= len(places):
            return False
        if ids[i] >= 0:
            places[ids[i]] += 1
    return True


@kernel
def _list(ids, starts, low, high, window, ends, listed):
    """The places of words low..high, by word; each with how far it may look to the left and to the right."""
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1] - 1
        for at in range(first, last + 1):
            word = ids[at]
            if low <= word < high:
                look = (min(window, at - first) << 10) | min(window, last - at)
                listed[ends[word - low]] = (at << 20) | look
                ends[word - low] += 1


@kernel
def _touch(near, add, row, touched):
    """Add to one column of the row, and note it if it was zero; the first of the notes is how many there are."""
    if row[near] == 0:
        touched[0] += 1
        touched[touched[0]] = near
    row[near] += add


@kernel
def _mark(touched, marks, tops):
    """Sort the noted columns without comparing: a bit for each, and a bit for every 64 of those."""
    for i in range(1, touched[0] + 1):
        column = np.uint64(touched[i])
        marks[touched[i] >> 6] |= _ONE << (column & _LOW)
        tops[touched[i] >> 12] |= _ONE << ((column >> _SIX) & _LOW)
    touched[0] = 0


@kernel
def _add(ids, at, left, right, sums, row, touched):
    """Add the neighbours of one place to the row."""
    for distance in range(1, left + 1):
        if ids[at - distance] >= 0:
            _touch(ids[at - distance], sums[distance], row, touched)
    for distance in range(1, right + 1):
        if ids[at + distance] >= 0:
            _touch(ids[at + distance], sums[distance], row, touched)


@kernel
def _add_everywhere(ids, starts, word, sums, left, right, row, touched):
    """Add the neighbours of every place of one word, met in the order of the text."""
    window = len(sums) - 1
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1] - 1
        for at in range(first, last + 1):
            if ids[at] == word:
                before, after = min(window, at - first) * left, min(window, last - at) * right
                _add(ids, at, before, after, sums, row, touched)


@kernel
def _put(row, touched, marks, tops, cols, sums, used):
    """Write the row's cells in order and make all zero again; how many cells there are by now."""
    _mark(touched, marks, tops)
    for top in range(len(tops)):
        groups = tops[top]
        tops[top] = _ZERO
        while groups:
            group = top * 64 + _LOWEST[((groups & (~groups + _ONE)) * _MAGIC) >> _TOP]
            groups &= groups - _ONE
            bits = marks[group]
            marks[group] = _ZERO
            while bits:
                column = group * 64 + _LOWEST[((bits & (~bits + _ONE)) * _MAGIC) >> _TOP]
                bits &= bits - _ONE
                cols[used], sums[used] = column, row[column]
                row[column] = 0
                used += 1
    return used


@kernel
def _count_rows(ids, starts, places, adds, left, right, low, high, listed, row, touched, marks, tops, cols, sums, ends):
    """The cells of rows low..high: columns, sums, and where each row ends."""
    if high - low == 1:
        _add_everywhere(ids, starts, low, adds, left, right, row, touched)
        ends[0] = _put(row, touched, marks, tops, cols, sums, 0)
        return
    edges = np.zeros(high - low, np.int64)
    for word in range(low + 1, high):
        edges[word - low] = edges[word - low - 1] + places[word - 1]
    _list(ids, starts, low, high, len(adds) - 1, edges, listed)
    begin = used = 0
    for word in range(low, high):
        for i in range(begin, edges[word - low]):
            at, look = listed[i] >> 20, listed[i]
            _add(ids, at, ((look >> 10) & 1023) * left, (look & 1023) * right, adds, row, touched)
        begin = edges[word - low]
        used = _put(row, touched, marks, tops, cols, sums, used)
        ends[word - low] = used
