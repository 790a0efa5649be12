"""A sorted lexicon on disk, memory-mapped, and the external merge sort that builds it.

Word ids follow the alphabetical order, so that sorting ids sorts words.
"""

from __future__ import annotations

import heapq
import mmap
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

_CHUNK = 1 << 16  # words held in memory at once


class Lexicon:
    """Words with ids, in the order of their UTF-8 bytes; `counts[i]` is the frequency of word i."""

    def __init__(self, folder: Path, name: str) -> None:
        self.offsets = np.load(folder / f"{name}.starts.npy", mmap_mode="r")
        self.counts = np.load(folder / f"{name}.counts.npy", mmap_mode="r")
        with (folder / f"{name}.txt").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self.offsets) != len(self.counts) + 1 or self.offsets[-1] != len(self._bytes):
            raise ValueError(f"{name}.txt does not match its byte offsets")

    def __len__(self) -> int:
        return len(self.counts)

    def word(self, word_id: int) -> str:
        """The word of an id."""
        return self._line(word_id).decode()

    def find(self, word: str) -> int | None:
        """The id of a word, None if it is not in the lexicon."""
        key = word.encode(errors="surrogatepass")  # a lone surrogate is in no text, and is not found
        word_id = self._bisect(key)
        return word_id if word_id < len(self) and self._line(word_id) == key else None

    def find_all(self, words: list[str]) -> np.ndarray:
        """The ids of many words, −1 for those that are not in the lexicon."""
        rows, ids = {word: row for row, word in enumerate(words)}, np.full(len(words), -1)
        for low in range(0, len(self), _CHUNK):
            for word_id, word in enumerate(self.words(low, min(low + _CHUNK, len(self))), low):
                if word in rows:
                    ids[rows[word]] = word_id
        return ids

    def match(self, prefix: str, pattern: str) -> np.ndarray:
        """The ids of the words that start with a prefix and fully match a regular expression."""
        low, high = self._prefix_range(prefix)
        if not pattern:
            return np.arange(low, high)
        lines = self._bytes[self.offsets[low] : self.offsets[high]].decode()
        regex = re.compile(f"^(?:{pattern})$", re.MULTILINE)
        starts = [match.start() for match in regex.finditer(lines) if match.end() > match.start()]
        line_ends = np.flatnonzero(np.frombuffer(lines.encode("utf-32-le"), "<u4") == ord("\n"))
        return low + np.searchsorted(line_ends, starts)  # a word's id is the number of lines that end before it

    def words(self, low: int = 0, high: int | None = None) -> list[str]:
        """The words of a range of ids."""
        high = len(self) if high is None else high
        return self._bytes[self.offsets[low] : self.offsets[high]].decode().split("\n")[:-1]

    def with_prefix(self, prefix: str) -> np.ndarray:
        """The ids of the words that start with a prefix."""
        return self.match(prefix, "")

    def _prefix_range(self, prefix: str) -> tuple[int, int]:
        key = prefix.encode(errors="surrogatepass")
        return (self._bisect(key), self._bisect(key + b"\xff")) if key else (0, len(self))

    def _line(self, word_id: int) -> bytes:
        return self._bytes[self.offsets[word_id] : self.offsets[word_id + 1] - 1]

    def _bisect(self, key: bytes) -> int:
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._line(middle) < key else (low, middle)
        return low


class IdMap(dict):
    """From words to ids, assigned in the order of first use."""

    def __missing__(self, word: str) -> int:
        self[word] = word_id = len(self)
        return word_id


class ExternalSort:
    """An external merge sort of the words of several blocks: sorted blocks on disk, merged at the end."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.blocks = folder, name, 0

    def add(self, ids: IdMap) -> None:
        """Write the words of one block, sorted."""
        words = sorted(ids)
        self._path("words", "txt").write_bytes("".join(f"{word}\n" for word in words).encode())
        rank = np.empty(len(words), np.uint32)
        rank[np.fromiter(map(ids.__getitem__, words), np.int64, len(words))] = np.arange(len(words))
        np.save(self._path("rank", "npy"), rank)
        self.blocks += 1

    def merge(self) -> int:
        """Write all words in order, `name.txt` and its byte offsets; returns their number. Required by `final_ids`."""
        merged_ids = [array("I") for _ in range(self.blocks)]
        offsets, size = array("q", [0]), 0
        with (self.folder / f"{self.name}.txt").open("wb") as out:
            pairs = heapq.merge(*(self._lines(block) for block in range(self.blocks)))
            for word_id, (word, group) in enumerate(groupby(pairs, key=lambda pair: pair[0])):
                for _, block in group:
                    merged_ids[block].append(word_id)
                out.write(word + b"\n")
                size += len(word) + 1
                offsets.append(size)
        np.save(self.folder / f"{self.name}.starts.npy", np.frombuffer(offsets, np.int64))
        for block, block_ids in enumerate(merged_ids):
            np.save(self._path("merged", "npy", block), np.frombuffer(block_ids, np.uint32))
        return len(offsets) - 1

    def merged_ids(self, block: int) -> np.ndarray:
        """The final ids of a block's words, ascending."""
        return np.load(self._path("merged", "npy", block), mmap_mode="r")

    def final_ids(self, block: int) -> np.ndarray:
        """From a block's own ids to the final ones."""
        return self.merged_ids(block)[self.rank(block)]

    def rank(self, block: int) -> np.ndarray:
        """From a block's own ids to the ranks of its words in the block's alphabetical order."""
        return np.load(self._path("rank", "npy", block))

    def clear(self) -> None:
        """Remove the temporary files."""
        for path in self.folder.glob(f"{self.name}-*"):
            path.unlink()

    def _lines(self, block: int) -> Iterator[tuple[bytes, int]]:
        with self._path("words", "txt", block).open("rb") as file:
            for line in file:
                yield line[:-1], block

    def _path(self, kind: str, suffix: str, block: int | None = None) -> Path:
        return self.folder / f"{self.name}-{kind}-{self.blocks if block is None else block:05d}.{suffix}"


def write_folded(folder: Path, name: str, words: Lexicon, block_size: int) -> None:
    """A second lexicon of the case-folded words, and `folded_ids.npy`: from a word's id to that of its folded form."""
    sort, block_ids = ExternalSort(folder, name), []
    for low in range(0, len(words), block_size):
        ids = IdMap()
        folded = map(str.casefold, words.words(low, min(low + block_size, len(words))))
        block_ids.append(_assign_ids(ids, folded))
        sort.add(ids)
    size = sort.merge()
    folded_ids = np.concatenate([sort.final_ids(block)[ids] for block, ids in enumerate(block_ids)])
    np.save(folder / "folded_ids.npy", folded_ids)
    np.save(folder / f"{name}.counts.npy", np.bincount(folded_ids, words.counts, size).astype(np.int64))
    sort.clear()


def _assign_ids(ids: IdMap, words: Iterable[str]) -> np.ndarray:
    return np.fromiter(map(ids.__getitem__, words), np.uint32)
