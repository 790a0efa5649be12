"""Sentences and their translations: two or more files line by line, or one file in columns; word alignments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import line_safe, same_count, shown
from firth.data.records import Alignment, Pair, Row
from firth.errors import FirthError

LINK = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")


@dataclass(frozen=True)
class Parallel:
    """Line n of each file (or column) says the same in another language."""

    empty: Literal["keep", "refuse"] = "keep"  # an empty side
    separator: str = "\t"  # of the columns, where one file has them all

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Pair
    task: ClassVar[str] = "translation"

    def read(self, path: str | Path | Sequence[str | Path], report: going.Report | None = None) -> Iterator[Pair | Row]:
        """A Pair for two languages, a Row for more; `path` is one file in columns, or a file for each language."""
        together = _columns(path, self.separator) if isinstance(path, (str, Path)) else _files(tuple(path))
        return going.parsed(self._record, together, report)

    def _record(self, unit: tuple[str | Path, int, Sequence[str], int]) -> Pair | Row:
        path, line, texts, width = unit
        if len(texts) != width:
            same_count(len(texts), width, lines.at(path, line))
        if self.empty == "refuse" and not all(text.strip() for text in texts):
            do = "drop the line on all sides, or set empty=keep"
            raise FirthError("an empty side", where=lines.at(path, line), do=do)
        return Pair(*texts, line=line) if width == 2 else Row(tuple(texts), line)

    def rows(self, records: Iterable[Pair | Row]) -> Iterator[str]:
        """The lines of one file in columns."""
        for texts in map(_texts, records):
            yield self.separator.join([line_safe(text, "\n" + self.separator) for text in texts])

    def sides(self, records: Iterable[Pair | Row]) -> list[list[str]]:
        """The lines of each file, where every language has its own."""
        return [list(side) for side in zip(*([line_safe(t, "\n") for t in _texts(r)] for r in records), strict=True)]


@dataclass(frozen=True)
class Alignments:
    """Word alignments as Pharaoh has them: `0-0 1-2`, a line for each pair of sentences, words counted from 0."""

    endings: ClassVar[tuple[str, ...]] = ("align",)
    holds: ClassVar[type] = Alignment

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Alignment]:
        """The links of each line, in its order; a line may have none."""
        return going.parsed(
            lambda unit: Alignment(links(unit[1], lines.at(path, unit[0])), unit[0]), lines.lines(path), report
        )

    def rows(self, records: Iterable[Alignment]) -> Iterator[str]:
        """The lines of a file with these links."""
        for record in records:
            yield " ".join(f"{left}-{right}" for left, right in record.links)


def links(text: str, where: str = "") -> tuple[tuple[int, int], ...]:
    """The pairs of word numbers of one line."""
    found = []
    for part in text.split():
        if not LINK.fullmatch(part):
            raise FirthError(f"{shown(part)} is no link", where=where, do="write left-right, such as 0-0 1-2")
        left, _, right = part.partition("-")
        found.append((int(left), int(right)))
    return tuple(found)


def _texts(record: Pair | Row) -> tuple[str, ...]:
    return record.values if isinstance(record, Row) else (record.left, record.right)


def _columns(path: str | Path, separator: str) -> Iterator[tuple[str | Path, int, list[str], int]]:
    width = 0
    for number, line in lines.lines(path):
        texts = line.split(separator) if separator else [line]
        width = width or max(len(texts), 2)
        yield path, number, texts, width


def _files(paths: tuple[str | Path, ...]) -> Iterator[tuple[str | Path, int, list[str], int]]:
    if len(paths) < 2:
        what = f"{len(paths)} file{'s' * (len(paths) != 1)}, expected one for each language"
        raise FirthError(what, do="name at least two files")
    for together in zip_longest(*map(lines.lines, paths)):
        if None in together:
            raise _unequal(paths)
        yield paths[0], together[0][0], [line for _, line in together], len(paths)


def _unequal(paths: tuple[str | Path, ...]) -> FirthError:
    counts = [sum(map(len, lines.blocks(path))) for path in paths]
    least = min(counts)
    others = " and ".join(f"{path} has {count}" for path, count in zip(paths, counts, strict=True) if count > least)
    what = f"it ends after {least} lines, but {others}"
    return FirthError(what, where=lines.at(paths[counts.index(least)], least), do="line n of each must belong together")
