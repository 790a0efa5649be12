"""Parser of ARPA files: the counts and n-gram sections, validated; errors name the line."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.datasets import numbered_lines
from firth.errors import FirthError
from firth.ngram.trie import MAX_NODES

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
_MAX_ORDER = 32
_PROGRESS_SECONDS = 2.0  # between messages
_COUNT = re.compile(r"ngram +([0-9]{1,3}) *= *([0-9]{1,12})")
_ADVICE = "the file is damaged or cut short: write it again"


class Section(NamedTuple):
    """The n-grams of one order in file order."""

    line: int  # line number of the first n-gram
    tokens: np.ndarray  # (n-grams, order) int32
    logs: np.ndarray  # float64, log10 probabilities; NaN: to be filled in
    backoffs: np.ndarray  # float64, log10 backoff weights


class Reader:
    """Reads the lines of an ARPA file, one by one or in blocks, and counts them for error messages."""

    def __init__(self, path: str | Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.path, self.number, self.say = path, 0, say
        self._said = time.monotonic()
        self._blocks = numbered_lines.blocks(path)
        self._buffer: list[str] = []
        self._position = 0

    def error(self, what: str, line: int = 0) -> FirthError:
        """Return an error that names the file and the line."""
        return FirthError(what, where=f"{self.path}:{line or max(self.number, 1)}", do=_ADVICE)

    def read_lines(self, max_lines: int) -> list[str]:
        """Return the next lines: at least one, at most `max_lines`."""
        if self._position == len(self._buffer):
            self._buffer, self._position = next(self._blocks, []), 0
            if not self._buffer:
                raise self.error("the file ends too early")
        lines = self._buffer[self._position : self._position + max_lines]
        self._position += len(lines)
        self.number += len(lines)
        return lines

    def next_line(self) -> str:
        """Return the next line that is not blank."""
        while not (line := self.read_lines(1)[0].strip(" \t\r")):
            pass
        return line

    def _report(self, text: str) -> None:
        """Say how much is read, if nothing was said for some time."""
        if time.monotonic() - self._said >= _PROGRESS_SECONDS:
            self.say(text)
            self._said = time.monotonic()

    def expect(self, header: str) -> None:
        """Raise unless the next line that is not blank is this header."""
        line = self.next_line()
        if line != header:
            raise self.error(f"expected {header}, found {line[:40]!r}")

    def read_counts(self) -> list[int]:
        r"""Read the n-gram counts of the \\data\\ section: consecutive orders from 1, closed by a blank line."""
        while (line := self.next_line()) != "\\data\\":
            if not line.startswith("#"):
                raise self.error(f"not an ARPA file: expected \\data\\, found {line[:40]!r}")
        sizes: list[int] = []
        while line := self.read_lines(1)[0].strip(" \t\r"):
            match = _COUNT.fullmatch(line)
            if not match or int(match[1]) != len(sizes) + 1:
                raise self.error(f"expected ngram {len(sizes) + 1}=…, found {line[:40]!r}")
            if sum(sizes) + int(match[2]) > MAX_NODES:
                raise self.error(f"too many n-grams: {match[2]}")
            sizes.append(int(match[2]))
        if not 1 <= len(sizes) <= _MAX_ORDER or not sizes[0]:
            raise self.error(
                f"{len(sizes)} orders, at most {_MAX_ORDER} are supported" if sizes and sizes[0] else "no n-grams"
            )
        return sizes

    def read_section(self, order: int, size: int, index: dict[str, int], *, last: bool) -> Section:
        """Read the n-grams of one order; order 1 fills `index`, from word to id."""
        self.expect(f"\\{order}-grams:")
        line, blocks, remaining = self.number + 1, [], size
        while remaining:
            lines = self.read_lines(remaining)
            blocks.append(self._parse(lines, order, index, last))
            remaining -= len(lines)
            self._report(f"{size - remaining:,} of {size:,} {order}-grams are read")
        if not blocks:
            return Section(line, np.empty((0, order), np.int32), np.empty(0), np.empty(0))
        return Section(line, *(np.concatenate(column) for column in zip(*blocks, strict=True)))

    def _parse(self, lines: list[str], order: int, index: dict[str, int], last: bool) -> tuple[np.ndarray, ...]:
        """Parse tokens, log-probabilities and backoff weights: uniform lines in one go, others one by one."""
        columns = self._parse_columns(lines, order, last)
        if order == 1:
            _assign_ids(columns[1], index, self, len(lines))
        words = " ".join(columns[1]).split(" ")
        tokens = np.fromiter(map(index.get, words, repeat(-1)), np.int32, len(words))
        logs, backoffs = (np.array(column, np.float64) for column in (columns[0], columns[2]))
        self._validate(lines, tokens.reshape(-1, order), logs, backoffs)
        return tokens.reshape(-1, order), logs, backoffs

    def _parse_columns(self, lines: list[str], order: int, last: bool) -> tuple[list[float], list[str], list[float]]:
        fields = 2 if last else 3
        try:
            if set(map(str.count, lines, repeat("\t"))) == {fields - 1}:
                cells = "\t".join(lines).split("\t")
                if set(map(str.count, cells[1::fields], repeat(" "))) == {order - 1}:
                    backoffs = [0.0] * len(lines) if last else list(map(float, cells[2::fields]))
                    return list(map(float, cells[::fields])), cells[1::fields], backoffs
        except ValueError:
            pass  # reported below, with its line
        first = self.number - len(lines) + 1
        rows = [self._parse_line(line, order, number) for number, line in enumerate(lines, first)]
        return tuple(map(list, zip(*rows, strict=True)))

    def _parse_line(self, line: str, order: int, number: int) -> tuple[float, str, float]:
        """Parse one line, its fields separated by any blanks; a missing backoff weight is one (log 0)."""
        fields = [field for field in line.rstrip("\r").replace("\t", " ").split(" ") if field]
        if not order + 1 <= len(fields) <= order + 2:
            raise self.error(f"expected a number, {order} words and a backoff weight, found {line[:60]!r}", number)
        try:
            return float(fields[0]), " ".join(fields[1 : order + 1]), float(fields[-1]) if fields[order + 1 :] else 0.0
        except ValueError:
            raise self.error(f"not a number in {line[:60]!r}", number) from None

    def _validate(self, lines: list[str], tokens: np.ndarray, logs: np.ndarray, backoffs: np.ndarray) -> None:
        """Raise unless all words are among the unigrams, log-probabilities are at most 0 and all numbers are finite."""
        first = self.number - len(lines) + 1
        faults = {
            "a word that is not among the 1-grams": (tokens < 0).any(axis=1),
            "a log-probability that is not a number or above 0": ~(np.isfinite(logs) & (logs <= 0)),
            "a backoff weight that is not a finite number": ~np.isfinite(backoffs),
        }
        for what, where in faults.items():
            if where.any():
                row = int(where.argmax())
                raise self.error(f"{what}: {lines[row][:60]!r}", first + row)


def _assign_ids(words: Iterable[str], index: dict[str, int], reader: Reader, size: int) -> None:
    """Assign ids to new words; a repeated word is an error."""
    for row, word in enumerate(words):
        if word in index or not word:
            what = f"the word {word[:40]!r} occurs twice" if word else "a 1-gram without a word"
            raise reader.error(what, reader.number - size + 1 + row)
        index[word] = len(index)
