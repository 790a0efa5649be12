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

SECTION = re.compile(r"\.([A-Z])\s*")


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
        for passage in records:
            fields = dict(passage.fields)
            yield f".I {line_safe(fields.pop('I', passage.id))}"
            for name, text in {"T": passage.title, **fields, "W": passage.text}.items():
                if text or name in fields or name == "W":
                    yield f".{name}"
                    yield from text.split("\n") if text else ()


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
