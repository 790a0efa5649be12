"""Sentences in columns (CoNLL-2000, CoNLL-2003): a word and its tags a line, an empty line after each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.records import Tagged
from firth.errors import FirthError

SEPARATORS = {"blank": " ", "tab": "\t"}
TAGS = {2: ("tag",), 3: ("pos", "chunk"), 4: ("pos", "chunk", "entity")}  # what the columns usually are


@dataclass(frozen=True)
class Columns:
    """Words with tags; `layers` names the columns after the word (none: as many as the first line has)."""

    separator: Literal["auto", "blank", "tab"] = "auto"  # auto: a tab if the first line has one
    layers: tuple[str, ...] = ()
    opening: str = "-DOCSTART-"  # the first word of a line that opens a document
    endings: ClassVar[tuple[str, ...]] = ("conll", "iob", "iob2", "bio")
    holds: ClassVar[type] = Tagged
    task: ClassVar[str] = "tagging"

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Tagged]:
        """The sentences; a line that opens a document goes with the sentence after it."""
        reader = _Reader(self, path)
        yield from going.parsed(reader.parse, reader.sentences(), report)

    def rows(self, records: Iterable[Tagged]) -> Iterator[str]:
        """The lines of a file with these sentences."""
        mark = SEPARATORS.get(self.separator, " ")
        for number, sentence in enumerate(records, 1):
            for line in sentence.opening.split("\n") if sentence.opening else ():
                yield from (line, "")
            cells = (sentence.words, *sentence.layers)
            if any(mark in cell or not cell for column in cells for cell in column):
                what = f"sentence {number}: an empty cell, or a separator inside one"
                raise FirthError(what, do="set separator=tab")
            yield from map(mark.join, zip(*cells, strict=True))
            yield from [""] * sentence.gap

    def names(self, width: int) -> tuple[str, ...]:
        """The names of the layers of a file with so many columns."""
        return self.layers or TAGS.get(width, tuple(f"tag{number}" for number in range(1, width)))


class _Reader:
    """One pass over a file: separator and width are settled by its first line."""

    def __init__(self, config: Columns, path: str | Path) -> None:
        self.config, self.path = config, path
        self.mark = SEPARATORS.get(config.separator, "")
        self.width = len(config.layers) + 1 if config.layers else 0

    def sentences(self) -> Iterator[tuple[int, list[str], int, str]]:
        """Lines of a sentence with the number of the first, the empty lines after them, and what opens them."""
        opening: list[str] = []
        begun = 0
        for begun, held, gap in going.paragraphs(lines.blocks(self.path)):
            self.mark = self.mark or ("\t" if "\t" in held[0] else " ")
            first = 0
            if self.config.opening and held[0].split(self.mark)[0] == self.config.opening:
                opening.append(held[0])
                first = 1
            if len(held) > first:
                yield begun + first, held[first:], gap, "\n".join(opening)
                opening = []
        if opening:
            raise FirthError("a document without a sentence", where=lines.at(self.path, begun), do="remove its line")

    def parse(self, unit: tuple[int, list[str], int, str]) -> Tagged:
        begun, held, gap, opening = unit
        table = [self._cells(line, begun + place) for place, line in enumerate(held)]
        words, *layers = zip(*table, strict=True)
        return Tagged(words, tuple(layers), opening, begun, gap)

    def _cells(self, line: str, number: int) -> list[str]:
        cells = line.split(self.mark)
        if "" in cells and self.mark == " ":  # columns may be put in line with several blanks
            cells = [cell for cell in cells if cell]
            if not cells:
                raise FirthError("a line of blanks", where=lines.at(self.path, number), do="leave it empty")
        self.width = self.width or len(cells)
        if len(cells) != self.width:
            what = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {self.width}"
            do = "give every word the same columns, or name them with layers=…"
            raise FirthError(what, where=lines.at(self.path, number), do=do)
        if "" in cells:
            raise FirthError("an empty column", where=lines.at(self.path, number), do="write _ for nothing")
        return cells
