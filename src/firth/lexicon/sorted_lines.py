"""Lookup in a text file with sorted lines by binary search: the file is memory-mapped, and no index is built."""

from __future__ import annotations

import mmap
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from firth.errors import FirthError

STEP = 1 << 12  # bytes between two sampled lines
MAX_LINE = 1 << 22  # bytes; a longer line is not text of a lexicon


class SortedLines:
    """A file whose lines begin with a key and are in the order of their bytes."""

    def __init__(self, path: Path, separator: bytes) -> None:
        self.path, self._separator = path, separator
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                self._map: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except OSError as error:
            raise FirthError(f"cannot be read ({error.strerror})", where=path, do="check the path") from None

    def find(self, key: bytes) -> bytes | None:
        """The line with this key, without its end; None if there is none."""
        at = bisect_right(self._samples[0], key)
        low, high = self._samples[1][at - 1] if at else 0, (*self._samples[1], len(self._map))[at]
        while low < high:
            start = self._line_start((low + high) // 2)
            line = self.line_at(start)
            there = line.partition(self._separator)[0]
            if there == key:
                return line
            if there < key:
                low = start + len(line) + 1
            else:
                high = start
        return None

    @cached_property
    def _samples(self) -> tuple[list[bytes], list[int]]:
        """The keys of a few lines, spread over the file, and where these begin: the search starts between two."""
        starts = sorted({self._line_start(at) for at in range(0, len(self._map), STEP)})
        return [self.line_at(start).partition(self._separator)[0] for start in starts], starts

    def line_at(self, start: int) -> bytes:
        """The line that begins at this byte, without its end; empty beyond the end of the file."""
        if not 0 <= start < len(self._map):
            return b""
        end = self._map.find(b"\n", start, start + MAX_LINE)
        if end < 0:
            if len(self._map) - start > MAX_LINE:
                raise FirthError(f"a line of more than {MAX_LINE >> 20} MB", where=self.path, do="get the file again")
            end = len(self._map)
        return bytes(self._map[start:end])

    def _line_start(self, at: int) -> int:
        start = self._map.rfind(b"\n", max(0, at - MAX_LINE), at) + 1
        if not start and at > MAX_LINE:
            raise FirthError(f"a line of more than {MAX_LINE >> 20} MB", where=self.path, do="get the file again")
        return start

    def lines(self) -> Iterator[bytes]:
        """Every line, without its end."""
        start = 0
        while start < len(self._map):
            line = self.line_at(start)
            yield line
            start += len(line) + 1

    def matches(self, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
        """Where a pattern matches the file."""
        return pattern.finditer(self._map)
