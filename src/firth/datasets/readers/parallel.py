"""Parallel corpora: sentences and their translations in two or more line-aligned files, or in columns of one file; and
word alignments in Pharaoh format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import check_column_count, quote, require_cell
from firth.datasets.records import Alignment, Pair, Row
from firth.errors import FirthError

LINK = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")


@dataclass(frozen=True)
class Parallel:
    """Line n of each file (or column) is the same sentence in another language."""

    empty: Literal["keep", "refuse"] = "keep"  # an empty side
    separator: str = "\t"  # of the columns, if one file has them all

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Pair
    task: ClassVar[str] = "translation"

    def read(
        self, path: str | Path | Sequence[str | Path], report: fault_report.Report | None = None
    ) -> Iterator[Pair | Row]:
        """A Pair for two languages, a Row for more; `path` is one file in columns, or one file per language."""
        units = _columns(path, self.separator) if isinstance(path, (str, Path)) else _files(tuple(path))
        return fault_report.parse_all(self._record, units, report)

    def _record(self, unit: tuple[str | Path, int, Sequence[str], int]) -> Pair | Row:
        path, line, texts, width = unit
        if len(texts) != width:
            check_column_count(len(texts), width, numbered_lines.at(path, line))
        if self.empty == "refuse" and not all(text.strip() for text in texts):
            do = "drop the line on all sides, or set empty=keep"
            raise FirthError("an empty side", where=numbered_lines.at(path, line), do=do)
        return Pair(*texts, line=line) if width == 2 else Row(tuple(texts), line)

    def rows(self, records: Iterable[Pair | Row]) -> Iterator[str]:
        """The lines of one file in columns."""
        for texts in map(_texts, records):
            yield self.separator.join([require_cell(text, "\n" + self.separator) for text in texts])

    def sides(self, records: Iterable[Pair | Row]) -> list[list[str]]:
        """The lines of each file, one file per language."""
        return [list(side) for side in zip(*([require_cell(t, "\n") for t in _texts(r)] for r in records), strict=True)]


@dataclass(frozen=True)
class Alignments:
    """Word alignments in Pharaoh format: `0-0 1-2`, one line per sentence pair, words counted from 0."""

    extensions: ClassVar[tuple[str, ...]] = ("align",)
    record_type: ClassVar[type] = Alignment

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Alignment]:
        """The links of each line, in order; a line may have none."""
        return fault_report.parse_all(
            lambda unit: Alignment(links(unit[1], numbered_lines.at(path, unit[0])), unit[0]),
            numbered_lines.lines(path),
            report,
        )

    def rows(self, records: Iterable[Alignment]) -> Iterator[str]:
        """The lines of a file with these links."""
        for record in records:
            yield " ".join(f"{left}-{right}" for left, right in record.links)


def links(text: str, where: str = "") -> tuple[tuple[int, int], ...]:
    """The links of one line, pairs of word numbers."""
    pairs = []
    for part in text.split():
        if not LINK.fullmatch(part):
            raise FirthError(f"{quote(part)} is not a link", where=where, do="write left-right, such as 0-0 1-2")
        left, _, right = part.partition("-")
        pairs.append((int(left), int(right)))
    return tuple(pairs)


def _texts(record: Pair | Row) -> tuple[str, ...]:
    return record.values if isinstance(record, Row) else (record.left, record.right)


def _columns(path: str | Path, separator: str) -> Iterator[tuple[str | Path, int, list[str], int]]:
    width = 0
    for number, line in numbered_lines.lines(path):
        texts = line.split(separator) if separator else [line]
        width = width or max(len(texts), 2)
        yield path, number, texts, width


def _files(paths: tuple[str | Path, ...]) -> Iterator[tuple[str | Path, int, list[str], int]]:
    if len(paths) < 2:
        what = f"{len(paths)} file{'s' * (len(paths) != 1)}, expected one for each language"
        raise FirthError(what, do="name at least two files")
    for lines in zip_longest(*map(numbered_lines.lines, paths)):
        if None in lines:
            raise _unequal(paths)
        yield paths[0], lines[0][0], [line for _, line in lines], len(paths)


def _unequal(paths: tuple[str | Path, ...]) -> FirthError:
    counts = [sum(map(len, numbered_lines.blocks(path))) for path in paths]
    shortest = min(counts)
    others = " and ".join(f"{path} has {count}" for path, count in zip(paths, counts, strict=True) if count > shortest)
    what = f"it ends after {shortest} lines, but {others}"
    return FirthError(
        what,
        where=numbered_lines.at(paths[counts.index(shortest)], shortest),
        do="line n of each file must be the same sentence",
    )
