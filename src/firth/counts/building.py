"""Making an index in bounded memory: blocks of words are numbered and sorted by themselves, spilled, and merged.

What lies in the folder afterwards, N words, D documents, V different words:
text.txt (documents, a line end after each), ids.npy (N), postings.npy (N: positions, by word), words.* (V), folded.*,
fold.npy (V), marks.npy (byte of every 32nd word), documents.npy and bytes.npy (D + 1: first word and first byte),
column-*.npy (D), about.json.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.counts.lexicon import Lexicon, Numbering, Spill, write_folded
from firth.counts.texts import Row, Texts
from firth.text import split

STEP = 32  # words between two marks; the words from there on are split again when one is looked for
LONGEST = 48  # characters of a stretch between blanks whose words are remembered
CHARACTERS = 1 << 20  # read at once
_SPACES = np.zeros(0x3002, bool)
_SPACES[[*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]] = (
    True
)
_SEPARATORS = "\x1c\x1d\x1e\x1f"  # blanks for str.split, marks for firth.text


class Limits(NamedTuple):
    """How much is held in memory at once."""

    words: int = 1 << 23
    types: int = 1 << 20


def build(folder: Path, texts: Texts, rule: str, limits: Limits, told: Callable[[int], None]) -> None:
    """Write the index of these texts into an empty folder; `told` hears how many bytes are done."""
    writer = _Writer(folder, rule, limits, len(texts.columns))
    for rows in _batches(texts):
        writer.add(rows)
        told(writer.size)
    writer.close()
    _finish(folder, writer, limits)
    about = {
        "split": rule,
        "words": writer.words,
        "documents": writer.documents,
        "text": texts.describe(),
        "columns": {name: list(values) for name, values in zip(texts.columns, writer.values, strict=True)},
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _batches(texts: Texts) -> Iterator[list[Row]]:
    rows, size = [], 0
    for row in texts:
        rows.append(row)
        size += len(row[0])
        if size >= CHARACTERS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


class _Words(dict):
    """From a stretch between blanks to the numbers of its words; the words of a text depend on nothing else."""

    def __init__(self, rule: str) -> None:
        self.rule, self.numbering, self.lengths = rule, Numbering(), array("I")

    def __missing__(self, stretch: str) -> tuple[int, ...]:
        numbers = tuple(map(self.numbering.__getitem__, split.whole(stretch, self.rule)))
        if len(stretch) <= LONGEST:
            self[stretch] = numbers
        return numbers

    def numbers(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The number and the length in characters of every word of a text."""
        if any(mark in text for mark in _SEPARATORS):
            found = map(self.numbering.__getitem__, split.whole(text, self.rule))
        else:
            found = chain.from_iterable(map(self.__getitem__, text.split()))
        ids = np.fromiter(found, np.uint32)
        self.lengths.extend(map(len, _last(self.numbering, len(self.numbering) - len(self.lengths))))
        return ids, np.frombuffer(self.lengths, np.uint32)[ids]


def _last(numbering: Numbering, count: int) -> list[str]:
    """The newest words, oldest first."""
    newest = reversed(numbering)
    return [next(newest) for _ in range(count)][::-1]


class _Writer:
    """Text, documents and words with the numbers of their block, as they come."""

    def __init__(self, folder: Path, rule: str, limits: Limits, columns: int) -> None:
        self.rule, self.limits = rule, limits
        self.words = self.documents = self.size = 0
        self.blocks: list[int] = []  # the first word of each
        self.values = [Numbering() for _ in range(columns)]
        self.spill = Spill(folder, "words")
        self._text = (folder / "text.txt").open("wb")
        self._own = (folder / "own.bin").open("wb")
        self._lists = {
            name: _List(folder / f"{name}.npy", kind)
            for name, kind in [("marks", np.int64), ("documents", np.int64), ("bytes", np.int64)]
        }
        self._columns = [_List(folder / f"column-{i}.npy", np.uint32) for i in range(columns)]
        self._start_block()

    def _start_block(self) -> None:
        self._found = _Words(self.rule)
        self.blocks.append(self.words)

    def add(self, rows: list[Row]) -> None:
        """Some more documents."""
        text = "\n".join(row[0] for row in rows) + "\n"
        data = text.encode()
        ids, lengths = self._found.numbers(text)
        starts, sizes = _places(text, lengths), None
        if len(data) != len(text):
            sizes = _byte_places(text)
        first = np.cumsum([0, *(len(row[0]) + 1 for row in rows)])[:-1]  # characters
        marked = starts[-self.words % STEP :: STEP]
        self._lists["documents"].add(np.searchsorted(starts, first) + self.words)
        self._lists["bytes"].add((first if sizes is None else sizes[first]) + self.size)
        self._lists["marks"].add((marked if sizes is None else sizes[marked]) + self.size)
        for column, values, i in zip(self._columns, self.values, range(len(self.values)), strict=True):
            column.add(np.fromiter((values[row[1][i]] for row in rows), np.uint32, len(rows)))
        self._text.write(data)
        self._own.write(ids.tobytes())
        self.words, self.size, self.documents = self.words + len(ids), self.size + len(data), self.documents + len(rows)
        if self.words - self.blocks[-1] >= self.limits.words or len(self._found.numbering) >= self.limits.types:
            self._end_block()
            self._start_block()

    def _end_block(self) -> None:
        self.spill.add(self._found.numbering)

    def close(self) -> None:
        """All on disk."""
        if self.words > self.blocks[-1]:
            self._end_block()
        else:
            self.blocks.pop()
        self._lists["documents"].add(np.array([self.words]))
        self._lists["bytes"].add(np.array([self.size]))
        self._text.close()
        self._own.close()
        for column in (*self._lists.values(), *self._columns):
            column.close()


class _List:
    """A NumPy file of one dimension that grows; its length is written at the end."""

    def __init__(self, path: Path, kind: type) -> None:
        self._file, self._kind, self._count = path.open("wb"), np.dtype(kind), 0
        self._head()

    def add(self, values: np.ndarray) -> None:
        self._file.write(values.astype(self._kind).tobytes())
        self._count += len(values)

    def close(self) -> None:
        self._file.seek(0)
        self._head()
        self._file.close()

    def _head(self) -> None:
        # NumPy leaves room in the header for a length that grows.
        about = {"descr": np.lib.format.dtype_to_descr(self._kind), "fortran_order": False, "shape": (self._count,)}
        np.lib.format.write_array_header_1_0(self._file, about)


def _places(text: str, lengths: np.ndarray) -> np.ndarray:
    """Where each word begins, in characters: words in a row are the text without its blanks."""
    codes = np.minimum(np.frombuffer(text.encode("utf-32-le"), "<u4"), len(_SPACES) - 1)
    solid = np.flatnonzero(~_SPACES[codes])
    return solid[np.cumsum(lengths, dtype=np.int64) - lengths] if len(lengths) else solid[:0]


def _byte_places(text: str) -> np.ndarray:
    """Where each character begins, in bytes."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    return np.cumsum(sizes) - sizes


# --- merging ------------------------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """One block's positions, sorted by word."""

    start: int  # the block's first word
    words: np.ndarray  # final numbers, ascending
    bounds: np.ndarray  # (words + 1,) where the positions of each lie
    positions: np.ndarray


def _finish(folder: Path, writer: _Writer, limits: Limits) -> None:
    size = writer.spill.merge()
    runs = _write_runs(folder, writer)
    counts = np.zeros(size, np.int64)
    for run in runs:
        counts[run.words] += np.diff(run.bounds)
    np.save(folder / "words.counts.npy", counts)
    _write_postings(folder, runs, counts, writer.words, limits.words)
    for path in (folder / "own.bin", *folder.glob("run-*")):
        path.unlink()
    writer.spill.clear()
    write_folded(folder, "folded", Lexicon(folder, "words"), limits.types)


def _write_runs(folder: Path, writer: _Writer) -> list[_Run]:
    """Give every word its final number, and sort each block's positions by them."""
    own = np.memmap(folder / "own.bin", np.uint32, "r")
    ids, runs = _List(folder / "ids.npy", np.uint32), []
    for block, (start, stop) in enumerate(zip(writer.blocks, [*writer.blocks[1:], writer.words], strict=True)):
        words, local = writer.spill.merged(block), writer.spill.rank(block)[own[start:stop]]
        ids.add(words[local])
        np.save(folder / f"run-bounds-{block:05d}.npy", np.concatenate([[0], np.cumsum(np.bincount(local))]))
        keys = local.astype(np.uint64) << np.uint64(32)  # the block's own order is the final one
        keys |= np.arange(stop - start, dtype=np.uint64)
        keys.sort()
        np.save(folder / f"run-positions-{block:05d}.npy", keys.astype(np.uint32))
        runs.append(
            _Run(start, words, *(_mapped(folder, f"run-{kind}-{block:05d}") for kind in ("bounds", "positions")))
        )
    ids.close()
    return runs


def _mapped(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def _write_postings(folder: Path, runs: list[_Run], counts: np.ndarray, words: int, most: int) -> None:
    """The counting sort: word by word the positions of all blocks, a range of words at a time."""
    kind = np.uint32 if words < 1 << 32 else np.uint64
    out = np.lib.format.open_memmap(folder / "postings.npy", "w+", kind, (words,))
    following = np.cumsum(counts) - counts
    edges = np.searchsorted(following, np.arange(0, words, most)).tolist()
    for low, high in zip(edges, [*edges[1:], len(counts)], strict=True):
        for run in runs:
            a, b = np.searchsorted(run.words, [low, high])
            found, bounds = run.words[a:b], run.bounds[a : b + 1]
            each = np.diff(bounds)
            target = np.repeat(following[found] - bounds[:-1], each) + np.arange(bounds[0], bounds[-1])
            out[target] = run.positions[bounds[0] : bounds[-1]].astype(kind) + kind(run.start)
            following[found] += each
    out.flush()
