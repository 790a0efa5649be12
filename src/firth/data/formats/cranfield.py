"""Texts as the Cranfield collection and its kin write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.relevance import once
from firth.data.formats.values import line_safe, shown
from firth.data.records import Passage
from firth.errors import FirthError

SECTION = re.compile(r"\.([A-HJ-Z])\s*")  # .I opens the next text
OTHER = "write another format, such as passages"


@dataclass(frozen=True)
class Cranfield:
    """Records of Cranfield and its kin: `.I` number, then `.T` title, `.A` author, `.B` source, `.W` text."""

    ids: Literal["written", "counted"] = "written"  # counted: 1, 2, 3 …, as Cranfield's judgements name its queries

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Passage

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Passage]:
        """The texts; what stands after .I is kept as the field I where it is not the id."""
        found = going.parsed(lambda unit: self._passage(*unit, path), _numbered(path), report)
        return once(found, path, report)

    def _passage(self, line: int, count: int, rows: list[str], path: str | Path) -> Passage:
        written = rows[0][2:].strip()
        if not rows[0].startswith(".I") or not written:
            raise FirthError(f"{shown(rows[0])} opens no text", where=lines.at(path, line), do="begin with .I 1")
        name = str(count) if self.ids == "counted" else written
        parts = _sections(rows, lines.at(path, line + 1))
        text, title = parts.pop("W", ""), parts.pop("T") if parts.get("T") else ""
        kept = (("I", written),) if name != written else ()
        return Passage(name, text, title, (*kept, *parts.items()), line)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these texts."""
        for number, passage in enumerate(records, 1):
            fields = dict(passage.fields)
            written = fields.pop("I", passage.id)
            self._check_id(passage.id, written, number)
            yield f".I {line_safe(written)}"
            opened: set[str] = set()
            for name, text in _parts(passage.title, fields, passage.text):
                opened.add(name)
                yield f".{name}"
                yield from _safe_lines(text, opened)

    def _check_id(self, name: str, written: str, number: int) -> None:
        """Raise unless the id (or what stood after .I where ids were counted) comes back when it is read again."""
        if not written or written.strip() != written:
            raise FirthError(f"id {shown(written)} is empty or has blanks around it", do=OTHER)
        if self.ids == "counted" and name != str(number):
            raise FirthError(f"text {number} has the id {shown(name)}, not its count", do="write it with ids=written")


def _parts(title: str, fields: dict[str, str], text: str) -> Iterator[tuple[str, str]]:
    """The sections of a text: its title first, the text itself last."""
    for name, value in fields.items():
        if not SECTION.fullmatch(f".{name}") or name == "W" or (name == "T" and (value or title)):
            raise FirthError(f"{shown(name)} is no name of a field here: A, B, … are, but not I, T and W", do=OTHER)
    if title or "T" in fields:
        yield "T", title
    yield from ((name, value) for name, value in fields.items() if name != "T")
    yield "W", text


def _safe_lines(text: str, opened: set[str]) -> list[str]:
    """The lines of a section, if none of them would begin another (a mark that has come before does not)."""
    found = text.split("\n") if text else []
    for line in found:
        mark = SECTION.fullmatch(line)
        if line.startswith(".I ") or (mark and mark[1] not in opened):
            raise FirthError(f"the line {shown(line)} would begin another section", do=OTHER)
    return found


def _numbered(path: str | Path) -> Iterator[tuple[int, int, list[str]]]:
    """The lines of each text, with the number of the first and the text's own count."""
    begun, count, held = 1, 0, []
    for number, line in lines.lines(path):
        if line.startswith(".I ") or not held:
            if held:
                yield begun, count, held
            begun, count, held = number, count + 1, []
        held.append(line)
    if held:
        yield begun, count, held


def _sections(rows: list[str], where: str) -> dict[str, str]:
    """The text of each section; a mark that has come before is a line like any other (three of Cranfield's are)."""
    parts: dict[str, list[str]] = {}
    inside = None
    for row in rows[1:]:
        mark = SECTION.fullmatch(row)
        if mark and mark[1] not in parts:
            inside = parts.setdefault(mark[1], [])
        elif inside is not None:
            inside.append(row)
        elif row.strip():
            raise FirthError(f"{shown(row)} before any section", where=where, do="begin with .T or .W")
    return {name: "\n".join(inside) for name, inside in parts.items()}
