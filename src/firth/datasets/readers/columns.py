"""Tagged sentences in columns (CoNLL-2000, CoNLL-2003): one word and its tags per line, an empty line after each
sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.records import Tagged
from firth.errors import FirthError

SEPARATORS = {"blank": " ", "tab": "\t"}
TAGS = {2: ("tag",), 3: ("pos", "chunk"), 4: ("pos", "chunk", "entity")}  # the usual columns


@dataclass(frozen=True)
class Columns:
    """Words with tags; `layers` names the tag columns (none: as many as the first line has)."""

    separator: Literal["auto", "blank", "tab"] = "auto"  # auto: a tab if the first line has one
    layers: tuple[str, ...] = ()
    opening: str = "-DOCSTART-"  # the first word of a line that opens a document
    extensions: ClassVar[tuple[str, ...]] = ("conll", "iob", "iob2", "bio")
    record_type: ClassVar[type] = Tagged
    task: ClassVar[str] = "tagging"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Tagged]:
        """The sentences; a line that opens a document belongs to the sentence after it."""
        reader = _Reader(self, path)
        yield from fault_report.parse_all(reader.parse, reader.sentences(), report)

    def rows(self, records: Iterable[Tagged]) -> Iterator[str]:
        """The lines of a file with these sentences."""
        delimiter = SEPARATORS.get(self.separator, " ")
        for number, sentence in enumerate(records, 1):
            for line in sentence.opening.split("\n") if sentence.opening else ():
                yield from (line, "")
            cells = (sentence.words, *sentence.layers)
            if any(delimiter in cell or not cell for column in cells for cell in column):
                what = f"sentence {number}: an empty cell, or a separator inside one"
                raise FirthError(what, do="set separator=tab")
            yield from map(delimiter.join, zip(*cells, strict=True))
            yield from [""] * sentence.gap

    def names(self, width: int) -> tuple[str, ...]:
        """The names of the layers of a file with `width` columns."""
        return self.layers or TAGS.get(width, tuple(f"tag{number}" for number in range(1, width)))


class _Reader:
    """One pass over a file; its first line decides separator and width."""

    def __init__(self, config: Columns, path: str | Path) -> None:
        self.config, self.path = config, path
        self.delimiter = SEPARATORS.get(config.separator, "")
        self.width = len(config.layers) + 1 if config.layers else 0

    def sentences(self) -> Iterator[tuple[int, list[str], int, str]]:
        """The lines of each sentence, with the number of the first, the empty lines after them, and opening lines."""
        opening: list[str] = []
        first_line = 0
        for first_line, lines, gap in numbered_lines.paragraphs(numbered_lines.blocks(self.path)):
            self.delimiter = self.delimiter or ("\t" if "\t" in lines[0] else " ")
            first = 0
            if self.config.opening and lines[0].split(self.delimiter)[0] == self.config.opening:
                opening.append(lines[0])
                first = 1
            if len(lines) > first:
                yield first_line + first, lines[first:], gap, "\n".join(opening)
                opening = []
        if opening:
            raise FirthError(
                "a document without a sentence", where=numbered_lines.at(self.path, first_line), do="remove its line"
            )

    def parse(self, unit: tuple[int, list[str], int, str]) -> Tagged:
        first_line, lines, gap, opening = unit
        table = [self._cells(line, first_line + index) for index, line in enumerate(lines)]
        words, *layers = zip(*table, strict=True)
        return Tagged(words, tuple(layers), opening, first_line, gap, self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.config.names(self.width)

    def _cells(self, line: str, number: int) -> list[str]:
        cells = line.split(self.delimiter)
        if "" in cells and self.delimiter == " ":  # columns may be aligned with several blanks
            cells = [cell for cell in cells if cell]
            if not cells:
                raise FirthError("a line of blanks", where=numbered_lines.at(self.path, number), do="leave it empty")
        self.width = self.width or len(cells)
        if len(cells) != self.width:
            what = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {self.width}"
            do = "give every word the same columns, or name them with layers=…"
            raise FirthError(what, where=numbered_lines.at(self.path, number), do=do)
        if "" in cells:
            raise FirthError("an empty column", where=numbered_lines.at(self.path, number), do="write _ for nothing")
        return cells
