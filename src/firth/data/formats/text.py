"""Plain text as records: its lines, or its paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import line_safe
from firth.data.records import Labelled
from firth.errors import FirthError


@dataclass(frozen=True)
class PlainText:
    """Texts without labels; a paragraph is a run of lines that are not blank."""

    unit: Literal["line", "paragraph"] = "line"
    empty: Literal["keep", "skip"] = "keep"  # blank lines, where the unit is a line

    endings: ClassVar[tuple[str, ...]] = ("txt",)
    holds: ClassVar[type] = Labelled
    task: ClassVar[str] = "language"

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Labelled]:
        """The texts in the order of the file."""
        if self.unit == "paragraph":
            yield from _paragraphs(path)
            return
        for number, line in lines.lines(path):
            if self.empty == "keep" or line.strip():
                yield Labelled(line, (), number)

    def rows(self, records: Iterable[Labelled]) -> Iterator[str]:
        """The lines; one blank line between paragraphs."""
        for i, record in enumerate(records):
            if self.unit == "line":
                yield line_safe(record.text, "\n")
                continue
            if i:
                yield ""
            inside = record.text.split("\n")
            if not all(line.strip() for line in inside):
                raise FirthError("a blank line inside of a paragraph", do="write its parts as paragraphs of their own")
            yield from inside


def _paragraphs(path: str | Path) -> Iterator[Labelled]:
    held: list[str] = []
    number = 0
    for number, line in lines.lines(path):
        if line.strip():
            held.append(line)
        elif held:
            yield Labelled("\n".join(held), (), number - len(held))
            held = []
    if held:
        yield Labelled("\n".join(held), (), number + 1 - len(held))
