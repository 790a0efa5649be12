"""Plain text as records: one per line, or per paragraph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import require_cell
from firth.datasets.records import Labelled
from firth.errors import FirthError


@dataclass(frozen=True)
class PlainText:
    """Texts without labels; a paragraph is a sequence of lines that are not blank."""

    unit: Literal["line", "paragraph"] = "line"
    empty: Literal["keep", "skip"] = "keep"  # blank lines, where the unit is a line

    extensions: ClassVar[tuple[str, ...]] = ("txt",)
    record_type: ClassVar[type] = Labelled
    task: ClassVar[str] = "language"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Labelled]:
        """The texts in the order of the file."""
        if self.unit == "paragraph":
            yield from _paragraphs(path)
            return
        for number, line in numbered_lines.lines(path):
            if self.empty == "keep" or line.strip():
                yield Labelled(line, (), number)

    def rows(self, records: Iterable[Labelled]) -> Iterator[str]:
        """The lines; one blank line between paragraphs."""
        for i, record in enumerate(records):
            if self.unit == "line":
                yield require_cell(record.text, "\n")
                continue
            if i:
                yield ""
            inside = record.text.split("\n")
            if not all(line.strip() for line in inside):
                raise FirthError("a blank line inside a paragraph", do="write its parts as separate paragraphs")
            yield from inside


def _paragraphs(path: str | Path) -> Iterator[Labelled]:
    lines: list[str] = []
    number = 0
    for number, line in numbered_lines.lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield Labelled("\n".join(lines), (), number - len(lines))
            lines = []
    if lines:
        yield Labelled("\n".join(lines), (), number + 1 - len(lines))
