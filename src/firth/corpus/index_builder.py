"""Builds a corpus index in bounded memory: blocks of words are assigned ids, sorted, written to disk and merged.

The files of an index with N tokens, D documents and V word types:
text.txt (documents, a newline after each), ids.npy (N), postings.npy (N: positions, by word), words.* (V), folded.*,
folded_ids.npy (V), sampled_byte_offsets.npy (of every 32nd token), document_starts.npy and document_bytes.npy (D + 1:
first token and first byte), column-*.npy (D), about.json.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.corpus.documents import Corpus, Row
from firth.corpus.sorted_words import ExternalSort, IdMap, Lexicon, write_folded
from firth.tokenizers import split

STEP = 32  # tokens between two stored byte offsets; the text from there on is split again to locate a token
MAX_CACHED_LENGTH = 48  # characters of a whitespace-delimited string whose tokens are cached
CHARACTERS = 1 << 20  # read at once
_SPACES = np.zeros(0x3002, bool)
_SPACES[[*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]] = (
    True
)
_SEPARATORS = "\x1c\x1d\x1e\x1f"  # whitespace for str.split, punctuation for firth.tokenizers


class Limits(NamedTuple):
    """The tokens and word types held in memory at once."""

    words: int = 1 << 23
    types: int = 1 << 20


def build(folder: Path, corpus: Corpus, rule: str, limits: Limits, on_progress: Callable[[int], None]) -> None:
    """Write the index of a corpus into an empty folder; `on_progress` receives the number of bytes done."""
    writer = _Writer(folder, rule, limits, len(corpus.columns))
    for rows in _batches(corpus):
        writer.add(rows)
        on_progress(writer.size)
    writer.close()
    _finish(folder, writer, limits)
    about = {
        "split": rule,
        "words": writer.words,
        "documents": writer.documents,
        "text": corpus.describe(),
        "columns": {name: list(values) for name, values in zip(corpus.columns, writer.values, strict=True)},
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _batches(corpus: Corpus) -> Iterator[list[Row]]:
    rows, size = [], 0
    for row in corpus:
        rows.append(row)
        size += len(row[0])
        if size >= CHARACTERS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


class _TokenCache(dict):
    """From a whitespace-delimited string to the ids of its tokens, which do not depend on the context."""

    def __init__(self, rule: str) -> None:
        self.rule, self.ids, self.lengths = rule, IdMap(), array("I")

    def __missing__(self, string: str) -> tuple[int, ...]:
        ids = tuple(map(self.ids.__getitem__, split.split_words(string, self.rule)))
        if len(string) <= MAX_CACHED_LENGTH:
            self[string] = ids
        return ids

    def encode(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The id and the length in characters of every token of a text."""
        if any(separator in text for separator in _SEPARATORS):
            ids = map(self.ids.__getitem__, split.split_words(text, self.rule))
        else:
            ids = chain.from_iterable(map(self.__getitem__, text.split()))
        ids = np.fromiter(ids, np.uint32)
        self.lengths.extend(map(len, _newest(self.ids, len(self.ids) - len(self.lengths))))
        return ids, np.frombuffer(self.lengths, np.uint32)[ids]


def _newest(ids: IdMap, count: int) -> list[str]:
    """The newest words, oldest first."""
    newest = reversed(ids)
    return [next(newest) for _ in range(count)][::-1]


class _Writer:
    """Writes text, document boundaries and block-local word ids as documents arrive."""

    def __init__(self, folder: Path, rule: str, limits: Limits, columns: int) -> None:
        self.rule, self.limits = rule, limits
        self.words = self.documents = self.size = 0
        self.blocks: list[int] = []  # the first token of each
        self.values = [IdMap() for _ in range(columns)]
        self.sort = ExternalSort(folder, "words")
        self._text = (folder / "text.txt").open("wb")
        self._block_ids = (folder / "own.bin").open("wb")
        self._arrays = {
            name: _GrowingArray(folder / f"{name}.npy", np.int64)
            for name in ("sampled_byte_offsets", "document_starts", "document_bytes")
        }
        self._columns = [_GrowingArray(folder / f"column-{i}.npy", np.uint32) for i in range(columns)]
        self._start_block()

    def _start_block(self) -> None:
        self._cache = _TokenCache(self.rule)
        self.blocks.append(self.words)

    def add(self, rows: list[Row]) -> None:
        """Add a batch of documents."""
        text = "\n".join(row[0] for row in rows) + "\n"
        data = text.encode()
        ids, lengths = self._cache.encode(text)
        starts = _token_starts(text, lengths)
        first = np.cumsum([0, *(len(row[0]) + 1 for row in rows)])[:-1]  # characters
        sampled = starts[-self.words % STEP :: STEP]
        self._arrays["document_starts"].add(np.searchsorted(starts, first) + self.words)
        if len(data) != len(text):
            byte_offsets = _byte_offsets(text)
            first, sampled = byte_offsets[first], byte_offsets[sampled]
        self._arrays["document_bytes"].add(first + self.size)
        self._arrays["sampled_byte_offsets"].add(sampled + self.size)
        for column, values, i in zip(self._columns, self.values, range(len(self.values)), strict=True):
            column.add(np.fromiter((values[row[1][i]] for row in rows), np.uint32, len(rows)))
        self._text.write(data)
        self._block_ids.write(ids.tobytes())
        self.words, self.size, self.documents = self.words + len(ids), self.size + len(data), self.documents + len(rows)
        if self.words - self.blocks[-1] >= self.limits.words or len(self._cache.ids) >= self.limits.types:
            self._end_block()
            self._start_block()

    def _end_block(self) -> None:
        self.sort.add(self._cache.ids)

    def close(self) -> None:
        """Write everything to disk."""
        if self.words > self.blocks[-1]:
            self._end_block()
        else:
            self.blocks.pop()
        self._arrays["document_starts"].add(np.array([self.words]))
        self._arrays["document_bytes"].add(np.array([self.size]))
        self._text.close()
        self._block_ids.close()
        for array_file in (*self._arrays.values(), *self._columns):
            array_file.close()


class _GrowingArray:
    """A one-dimensional NumPy file that grows; its length is written at the end."""

    def __init__(self, path: Path, dtype: type) -> None:
        self._file, self._dtype, self._count = path.open("wb"), np.dtype(dtype), 0
        self._write_header()

    def add(self, values: np.ndarray) -> None:
        self._file.write(values.astype(self._dtype).tobytes())
        self._count += len(values)

    def close(self) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        # NumPy leaves room in the header for a length that grows.
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self._count,)}
        np.lib.format.write_array_header_1_0(self._file, header)


def _token_starts(text: str, lengths: np.ndarray) -> np.ndarray:
    """The character offset of each token: the tokens joined are the text without its whitespace."""
    codes = np.minimum(np.frombuffer(text.encode("utf-32-le"), "<u4"), len(_SPACES) - 1)
    non_space = np.flatnonzero(~_SPACES[codes])
    return non_space[np.cumsum(lengths, dtype=np.int64) - lengths] if len(lengths) else non_space[:0]


def _byte_offsets(text: str) -> np.ndarray:
    """The byte offset of each character in UTF-8."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    return np.cumsum(sizes) - sizes


# --- merging ------------------------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """One block's positions, sorted by word."""

    start: int  # the block's first token
    words: np.ndarray  # final ids, ascending
    bounds: np.ndarray  # (words + 1,) where the positions of each start
    positions: np.ndarray


def _finish(folder: Path, writer: _Writer, limits: Limits) -> None:
    size = writer.sort.merge()
    runs = _write_runs(folder, writer)
    counts = np.zeros(size, np.int64)
    for run in runs:
        counts[run.words] += np.diff(run.bounds)
    np.save(folder / "words.counts.npy", counts)
    _write_postings(folder, runs, counts, writer.words, limits.words)
    for path in (folder / "own.bin", *folder.glob("run-*")):
        path.unlink()
    writer.sort.clear()
    write_folded(folder, "folded", Lexicon(folder, "words"), limits.types)


def _write_runs(folder: Path, writer: _Writer) -> list[_Run]:
    """Give every token its final id, and sort each block's positions by it."""
    block_ids = np.memmap(folder / "own.bin", np.uint32, "r")
    ids, runs = _GrowingArray(folder / "ids.npy", np.uint32), []
    for block, (start, stop) in enumerate(zip(writer.blocks, [*writer.blocks[1:], writer.words], strict=True)):
        words, ranks = writer.sort.merged_ids(block), writer.sort.rank(block)[block_ids[start:stop]]
        ids.add(words[ranks])
        np.save(folder / f"run-bounds-{block:05d}.npy", np.concatenate([[0], np.cumsum(np.bincount(ranks))]))
        keys = ranks.astype(np.uint64) << np.uint64(32)  # the block's own order agrees with the final one
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


def _write_postings(folder: Path, runs: list[_Run], counts: np.ndarray, num_tokens: int, max_tokens: int) -> None:
    """A counting sort: the positions of all blocks by word, a range of words at a time."""
    dtype = np.uint32 if num_tokens < 1 << 32 else np.uint64
    out = np.lib.format.open_memmap(folder / "postings.npy", "w+", dtype, (num_tokens,))
    write_offsets = np.cumsum(counts) - counts
    edges = np.searchsorted(write_offsets, np.arange(0, num_tokens, max_tokens)).tolist()
    for low, high in zip(edges, [*edges[1:], len(counts)], strict=True):
        for run in runs:
            a, b = np.searchsorted(run.words, [low, high])
            words, bounds = run.words[a:b], run.bounds[a : b + 1]
            run_counts = np.diff(bounds)
            destination = np.repeat(write_offsets[words] - bounds[:-1], run_counts) + np.arange(bounds[0], bounds[-1])
            out[destination] = run.positions[bounds[0] : bounds[-1]].astype(dtype) + dtype(run.start)
            write_offsets[words] += run_counts
    out.flush()
