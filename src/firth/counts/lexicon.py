"""Words in alphabetical order on disk, memory-mapped: a word's number is its place, so sorting numbers sorts words."""

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
    """Numbered words, in the order of their UTF-8 bytes; `counts[i]` says how often word i occurs."""

    def __init__(self, place: Path, name: str) -> None:
        self.starts = np.load(place / f"{name}.starts.npy", mmap_mode="r")
        self.counts = np.load(place / f"{name}.counts.npy", mmap_mode="r")
        with (place / f"{name}.txt").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self.starts) != len(self.counts) + 1 or self.starts[-1] != len(self._bytes):
            raise ValueError(f"{name}.txt does not fit its starts")

    def __len__(self) -> int:
        return len(self.counts)

    def word(self, number: int) -> str:
        """The word of this number."""
        return self._line(number).decode()

    def find(self, word: str) -> int | None:
        """The number of a word, if it is there."""
        key = word.encode()
        at = self._bisect(key)
        return at if at < len(self) and self._line(at) == key else None

    def numbers(self, words: list[str]) -> np.ndarray:
        """The number of each word, −1 for those that are not there."""
        rows, found = {word: row for row, word in enumerate(words)}, np.full(len(words), -1)
        for low in range(0, len(self), _CHUNK):
            for number, word in enumerate(self.words(low, min(low + _CHUNK, len(self))), low):
                if word in rows:
                    found[rows[word]] = number
        return found

    def matching(self, prefix: str, pattern: str) -> np.ndarray:
        """Numbers of the words that begin with a prefix and match the regular expression as a whole."""
        low, high = self._range(prefix)
        if not pattern:
            return np.arange(low, high)
        lines = self._bytes[self.starts[low] : self.starts[high]].decode()
        wanted = re.compile(f"^(?:{pattern})$", re.MULTILINE)
        found = [match.start() for match in wanted.finditer(lines) if match.end() > match.start()]
        ends = np.flatnonzero(np.frombuffer(lines.encode("utf-32-le"), "<u4") == ord("\n"))
        return low + np.searchsorted(ends, found)  # a word's number is how many lines end before it

    def words(self, low: int = 0, high: int | None = None) -> list[str]:
        """The words of a range of numbers."""
        high = len(self) if high is None else high
        return self._bytes[self.starts[low] : self.starts[high]].decode().split("\n")[:-1]

    def beginning(self, prefix: str) -> np.ndarray:
        """Numbers of the words that begin so."""
        return self.matching(prefix, "")

    def _range(self, prefix: str) -> tuple[int, int]:
        key = prefix.encode()
        return (self._bisect(key), self._bisect(key + b"\xff")) if key else (0, len(self))

    def _line(self, number: int) -> bytes:
        return self._bytes[self.starts[number] : self.starts[number + 1] - 1]

    def _bisect(self, key: bytes) -> int:
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._line(middle) < key else (low, middle)
        return low


class Numbering(dict):
    """Words to numbers in the order of their first use."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class Spill:
    """Numberings too large to hold at once, put on disk sorted and merged at the end."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.blocks = folder, name, 0

    def add(self, numbering: Numbering) -> None:
        """Put one numbering away."""
        words = sorted(numbering)
        self._path("words", "txt").write_bytes("".join(f"{word}\n" for word in words).encode())
        rank = np.empty(len(words), np.uint32)
        rank[np.fromiter(map(numbering.__getitem__, words), np.int64, len(words))] = np.arange(len(words))
        np.save(self._path("rank", "npy"), rank)
        self.blocks += 1

    def merge(self) -> int:
        """Write all words in order, `name.txt` and its starts, and say how many; afterwards `numbers` works."""
        numbers = [array("I") for _ in range(self.blocks)]
        starts, size = array("q", [0]), 0
        with (self.folder / f"{self.name}.txt").open("wb") as out:
            pairs = heapq.merge(*(self._lines(block) for block in range(self.blocks)))
            for number, (word, group) in enumerate(groupby(pairs, key=lambda pair: pair[0])):
                for _, block in group:
                    numbers[block].append(number)
                out.write(word + b"\n")
                size += len(word) + 1
                starts.append(size)
        np.save(self.folder / f"{self.name}.starts.npy", np.frombuffer(starts, np.int64))
        for block, found in enumerate(numbers):
            np.save(self._path("merged", "npy", block), np.frombuffer(found, np.uint32))
        return len(starts) - 1

    def merged(self, block: int) -> np.ndarray:
        """The final numbers of a block's words, ascending."""
        return np.load(self._path("merged", "npy", block), mmap_mode="r")

    def numbers(self, block: int) -> np.ndarray:
        """From a block's own numbers to the final ones."""
        return self.merged(block)[self.rank(block)]

    def rank(self, block: int) -> np.ndarray:
        """From a block's own numbers to the places of its words in its own alphabet."""
        return np.load(self._path("rank", "npy", block))

    def clear(self) -> None:
        """Remove what was needed only for the merge."""
        for path in self.folder.glob(f"{self.name}-*"):
            path.unlink()

    def _lines(self, block: int) -> Iterator[tuple[bytes, int]]:
        with self._path("words", "txt", block).open("rb") as file:
            for line in file:
                yield line[:-1], block

    def _path(self, kind: str, ending: str, block: int | None = None) -> Path:
        return self.folder / f"{self.name}-{kind}-{self.blocks if block is None else block:05d}.{ending}"


def write_folded(folder: Path, name: str, words: Lexicon, block: int) -> None:
    """A second lexicon of the case-folded words, and `fold.npy`: from a word's number to its folded one."""
    spill, pieces = Spill(folder, name), []
    for low in range(0, len(words), block):
        numbering = Numbering()
        folded = map(str.casefold, words.words(low, min(low + block, len(words))))
        pieces.append(_numbered(numbering, folded))
        spill.add(numbering)
    size = spill.merge()
    fold = np.concatenate([spill.numbers(i)[piece] for i, piece in enumerate(pieces)])
    np.save(folder / "fold.npy", fold)
    np.save(folder / f"{name}.counts.npy", np.bincount(fold, words.counts, size).astype(np.int64))
    spill.clear()


def _numbered(numbering: Numbering, words: Iterable[str]) -> np.ndarray:
    return np.fromiter(map(numbering.__getitem__, words), np.uint32)
