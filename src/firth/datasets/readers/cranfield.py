"""The format of the Cranfield collection (information retrieval): texts in sections .I, .T, .A, .B, .W."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.relevance import check_unique_ids
from firth.datasets.readers.values import quote, require_cell
from firth.datasets.records import Passage
from firth.errors import FirthError

SECTION = re.compile(r"\.([A-HJ-Z])\s*")  # .I begins the next record
OTHER = "write another format, such as passages"


@dataclass(frozen=True)
class Cranfield:
    """Cranfield-style records: `.I` number, then `.T` title, `.A` author, `.B` source, `.W` text."""

    ids: Literal["written", "counted"] = "written"  # counted: 1, 2, 3 …, as Cranfield's judgements name its queries

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Passage

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Passage]:
        """The passages; the text after .I is kept as the field I if it is not the id."""
        passages = fault_report.parse_all(lambda unit: self._passage(*unit, path), _numbered(path), report)
        return check_unique_ids(passages, path, report)

    def _passage(self, line: int, count: int, rows: list[str], path: str | Path) -> Passage:
        written = rows[0][2:].strip()
        if not rows[0].startswith(".I") or not written:
            raise FirthError(
                f"{quote(rows[0])} does not begin a record", where=numbered_lines.at(path, line), do="begin with .I 1"
            )
        name = str(count) if self.ids == "counted" else written
        parts = _sections(rows, numbered_lines.at(path, line + 1))
        text, title = parts.pop("W", ""), parts.pop("T") if parts.get("T") else ""
        number_field = (("I", written),) if name != written else ()
        return Passage(name, text, title, (*number_field, *parts.items()), line)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these passages."""
        for number, passage in enumerate(records, 1):
            fields = dict(passage.fields)
            written = fields.pop("I", passage.id)
            self._check_id(passage.id, written, number)
            yield f".I {require_cell(written)}"
            opened: set[str] = set()
            for name, text in _parts(passage.title, fields, passage.text):
                opened.add(name)
                yield f".{name}"
                yield from _safe_lines(text, opened)

    def _check_id(self, name: str, written: str, number: int) -> None:
        """Raise unless the id (or the text after .I where ids are counted) is the same when it is read again."""
        if not written or written.strip() != written:
            raise FirthError(f"id {quote(written)} is empty or has blanks around it", do=OTHER)
        if self.ids == "counted" and name != str(number):
            raise FirthError(f"text {number} has the id {quote(name)}, not its count", do="write it with ids=written")


def _parts(title: str, fields: dict[str, str], text: str) -> Iterator[tuple[str, str]]:
    """The sections of a passage: its title first, the text itself last."""
    for name, value in fields.items():
        if not SECTION.fullmatch(f".{name}") or name == "W" or (name == "T" and (value or title)):
            raise FirthError(f"{quote(name)} is not a valid field: use A, B, … but not I, T and W", do=OTHER)
    if title or "T" in fields:
        yield "T", title
    yield from ((name, value) for name, value in fields.items() if name != "T")
    yield "W", text


def _safe_lines(text: str, opened: set[str]) -> list[str]:
    """The lines of a section, if none of them would begin another (a section name used before does not)."""
    lines = text.split("\n") if text else []
    for line in lines:
        section = SECTION.fullmatch(line)
        if line.startswith(".I ") or (section and section[1] not in opened):
            raise FirthError(f"the line {quote(line)} would begin another section", do=OTHER)
    return lines


def _numbered(path: str | Path) -> Iterator[tuple[int, int, list[str]]]:
    """The lines of each record, with the number of the first line and the record's own count."""
    first, count, lines = 1, 0, []
    for number, line in numbered_lines.lines(path):
        if line.startswith(".I ") or not lines:
            if lines:
                yield first, count, lines
            first, count, lines = number, count + 1, []
        lines.append(line)
    if lines:
        yield first, count, lines


def _sections(rows: list[str], where: str) -> dict[str, str]:
    """The text of each section; a section name used before is a line like any other (Cranfield has three)."""
    parts: dict[str, list[str]] = {}
    current = None
    for row in rows[1:]:
        section = SECTION.fullmatch(row)
        if section and section[1] not in parts:
            current = parts.setdefault(section[1], [])
        elif current is not None:
            current.append(row)
        elif row.strip():
            raise FirthError(f"{quote(row)} before any section", where=where, do="begin with .T or .W")
    return {name: "\n".join(current) for name, current in parts.items()}
