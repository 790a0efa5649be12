"""The lines of an ARPA file: its counts and its sections, checked, with the line of whatever is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.counts.ngram.trie import MOST
from firth.data import lines
from firth.errors import FirthError

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
_LONGEST = 32  # tokens of an n-gram
_COUNT = re.compile(r"ngram +([0-9]{1,3}) *= *([0-9]{1,12})")
_AGAIN = "the file is damaged or cut short: write it again"


class Section(NamedTuple):
    """The n-grams of one order as they stand in the file."""

    line: int  # of the first one
    tokens: np.ndarray  # (n-grams, order) int32
    logs: np.ndarray  # float64, log10; NaN: to be filled in
    backoffs: np.ndarray


class Reader:
    """The lines of a file, taken one by one or many at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.number = path, 0
        self._blocks = lines.blocks(path)
        self._held: list[str] = []
        self._at = 0

    def wrong(self, what: str, line: int = 0) -> FirthError:
        """The error, with its line."""
        return FirthError(what, where=f"{self.path}:{line or max(self.number, 1)}", do=_AGAIN)

    def take(self, most: int) -> list[str]:
        """The next lines, at most so many, at least one."""
        if self._at == len(self._held):
            self._held, self._at = next(self._blocks, []), 0
            if not self._held:
                raise self.wrong("the file ends too early")
        found = self._held[self._at : self._at + most]
        self._at += len(found)
        self.number += len(found)
        return found

    def line(self) -> str:
        """The next line that is not blank."""
        while not (found := self.take(1)[0].strip(" \t\r")):
            pass
        return found

    def expect(self, header: str) -> None:
        """The next line that is not blank must be this."""
        found = self.line()
        if found != header:
            raise self.wrong(f"expected {header}, found {found[:40]!r}")

    def sizes(self) -> list[int]:
        """The counts at the head: consecutive orders from 1 on, closed by a blank line."""
        while (found := self.line()) != "\\data\\":
            if not found.startswith("#"):
                raise self.wrong(f"not an ARPA file: expected \\data\\, found {found[:40]!r}")
        sizes: list[int] = []
        while found := self.take(1)[0].strip(" \t\r"):
            match = _COUNT.fullmatch(found)
            if not match or int(match[1]) != len(sizes) + 1:
                raise self.wrong(f"expected ngram {len(sizes) + 1}=…, found {found[:40]!r}")
            if sum(sizes) + int(match[2]) > MOST:
                raise self.wrong(f"too many n-grams: {match[2]}")
            sizes.append(int(match[2]))
        if not 1 <= len(sizes) <= _LONGEST or not sizes[0]:
            raise self.wrong(f"n-grams of {len(sizes)} orders" if sizes and sizes[0] else "no n-grams")
        return sizes

    def section(self, order: int, size: int, index: dict[str, int], *, last: bool) -> Section:
        """The n-grams of one order; order 1 fills the index of words."""
        self.expect(f"\\{order}-grams:")
        line, pieces, left = self.number + 1, [], size
        while left:
            found = self.take(left)
            pieces.append(self._parsed(found, order, index, last))
            left -= len(found)
        if not pieces:
            return Section(line, np.empty((0, order), np.int32), np.empty(0), np.empty(0))
        return Section(line, *(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _parsed(self, found: list[str], order: int, index: dict[str, int], last: bool) -> tuple[np.ndarray, ...]:
        """Tokens, log-probabilities and weights of some lines: all alike at once, else one by one."""
        columns = self._columns(found, order, last)
        if order == 1:
            _number(columns[1], index, self, len(found))
        words = " ".join(columns[1]).split(" ")
        tokens = np.fromiter(map(index.get, words, repeat(-1)), np.int32, len(words))
        logs, backoffs = (np.array(column, np.float64) for column in (columns[0], columns[2]))
        self._check(found, tokens.reshape(-1, order), logs, backoffs)
        return tokens.reshape(-1, order), logs, backoffs

    def _columns(self, found: list[str], order: int, last: bool) -> tuple[list[float], list[str], list[float]]:
        fields = 2 if last else 3
        try:
            if set(map(str.count, found, repeat("\t"))) == {fields - 1}:
                cells = "\t".join(found).split("\t")
                if set(map(str.count, cells[1::fields], repeat(" "))) == {order - 1}:
                    backoffs = [0.0] * len(found) if last else list(map(float, cells[2::fields]))
                    return list(map(float, cells[::fields])), cells[1::fields], backoffs
        except ValueError:
            pass  # told below, with its line
        first = self.number - len(found) + 1
        rows = [self._row(line, order, number) for number, line in enumerate(found, first)]
        return tuple(map(list, zip(*rows, strict=True)))

    def _row(self, line: str, order: int, number: int) -> tuple[float, str, float]:
        """One line, its fields between any blanks; a missing weight is one."""
        fields = [field for field in line.rstrip("\r").replace("\t", " ").split(" ") if field]
        if not order + 1 <= len(fields) <= order + 2:
            raise self.wrong(f"expected a number, {order} words and a weight, found {line[:60]!r}", number)
        try:
            return float(fields[0]), " ".join(fields[1 : order + 1]), float(fields[-1]) if fields[order + 1 :] else 0.0
        except ValueError:
            raise self.wrong(f"not a number in {line[:60]!r}", number) from None

    def _check(self, found: list[str], tokens: np.ndarray, logs: np.ndarray, backoffs: np.ndarray) -> None:
        """The words are known, and the numbers are such as a model has."""
        first = self.number - len(found) + 1
        faults = {
            "a word that is not among the 1-grams": (tokens < 0).any(axis=1),
            "a log-probability that is not a number or above 0": ~(np.isfinite(logs) & (logs <= 0)),
            "a weight that is not a finite number": ~np.isfinite(backoffs),
        }
        for what, where in faults.items():
            if where.any():
                at = int(where.argmax())
                raise self.wrong(f"{what}: {found[at][:60]!r}", first + at)


def _number(words: Iterable[str], index: dict[str, int], reader: Reader, size: int) -> None:
    """Give new words their ids; a word that was there before is an error."""
    for at, word in enumerate(words):
        if word in index or not word:
            what = f"the word {word[:40]!r} stands there twice" if word else "a 1-gram without a word"
            raise reader.wrong(what, reader.number - size + 1 + at)
        index[word] = len(index)
