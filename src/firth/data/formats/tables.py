"""Tables: separated values with or without quotes, and JSON lines. A row's values are text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import Json, json_text, parse_json, shown
from firth.data.records import Row
from firth.errors import FirthError

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "blank": " "}
# A first line whose cells all look like names is a header if one of them is such a name.
# fmt: off
HEADERS = frozenset({
    "answer", "body", "category", "class", "date", "day", "genre", "gold", "hypothesis", "id", "index",
    "judgment", "label", "labels", "language", "left", "month", "name", "premise", "quality", "question",
    "rating", "relatedness", "right", "score", "sentence", "sentiment", "similarity", "source", "split", "stars",
    "subject", "summary", "tag", "target", "text", "time", "timestamp", "title", "topic", "value", "word", "year",
})
# fmt: on
NAME = re.compile(r"[#\w][\w #.-]{0,39}|")
LAST_PART = re.compile(r"[_ .-]?(id|[a-d]|[0-9]+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Rows of values; `columns` names them, in place of a header's names if there is one."""

    separator: str = "\t"  # or tab, comma, semicolon, bar, blank
    columns: tuple[str, ...] = ()
    header: Literal["auto", "yes", "no"] = "auto"  # auto: no if columns are named, else judged by the first line
    quotes: Literal["none", "csv"] = "none"  # csv: "a, b" is one value, "" in it a quote
    extra: Literal["refuse", "keep"] = "refuse"  # values beyond the last column
    endings: ClassVar[tuple[str, ...]] = ("tsv", "tab")
    holds: ClassVar[type] = Row

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Row]:
        """The rows; each must have the columns of the first."""
        units = self._units(path)
        first = next(units, None)
        if first is None:
            raise no_rows(path)
        fit = self._fit(first, path)
        units = units if fit.header else chain([first], units)
        found = going.parsed(partial(self._row, fit=fit, path=path), units, report)
        yield from _some(found, path)

    def rows(self, records: Iterable[Row]) -> Iterator[str]:
        """The lines of a file with these rows, under a header if the format or the rows have one."""
        for number, row in enumerate(records):
            if number == 0 and row.names and (self.header == "yes" or (self.header == "auto" and not self.columns)):
                yield from self._line(row.names)
            yield from self._line(row.values)

    @property
    def mark(self) -> str:
        """What stands between two values."""
        found = SEPARATORS.get(self.separator, self.separator)
        if not found or "\n" in found or (self.quotes == "csv" and (len(found) > 1 or found == '"')):
            raise FirthError(f"separator {self.separator!r}", do=f"give a character or one of {', '.join(SEPARATORS)}")
        return found

    def _units(self, path: str | Path) -> Iterator[tuple[int, str]]:
        """Rows as text, with the number of their first line: a quoted value may hold line ends."""
        if self.quotes == "none":
            yield from lines.lines(path)
            return
        held: list[str] = []
        begun, is_open = 0, False
        for number, line in lines.lines(path):
            begun = begun if held else number
            held.append(line)
            is_open ^= line.count('"') % 2 == 1
            if not is_open:
                yield begun, "\n".join(held)
                held = []
        if held:
            do = "close it, or set quotes=none if quotes have no meaning in this file"
            raise FirthError("a quote that never closes", where=lines.at(path, begun), do=do)

    def _cells(self, text: str) -> list[str]:
        if self.quotes == "none" or '"' not in text:
            return text.split(self.mark)
        mark = re.escape(self.mark)
        found = re.findall(rf'(?:"((?:[^"]|"")*)"(?={mark}|\Z)|([^{mark}]*))(?:{mark}|\Z)', text)
        if not text.endswith(self.mark):  # else the empty match at the end is the last value
            found.pop()
        return [quoted.replace('""', '"') or bare for quoted, bare in found]

    def _fit(self, first: tuple[int, str], path: str | Path) -> _Fit:
        cells = self._cells(first[1])
        header = self.header == "yes" or (self.header == "auto" and not self.columns and _is_header(cells))
        if self.columns and not header and tuple(cells) == self.columns:
            raise FirthError("the first line is a header", where=lines.at(path, first[0]), do="set header=yes")
        if header and self.columns and len(cells) != len(self.columns):
            what = f"a header of {len(cells)} columns, but {len(self.columns)} are named"
            raise FirthError(what, where=lines.at(path, first[0]), do="name all columns, or none")
        names = self.columns or (tuple(cells) if header else ())
        doubled = next((name for name in names if name not in ("", "_") and names.count(name) > 1), None)
        if doubled is not None:
            raise FirthError(f"two columns {doubled!r}", where=lines.at(path, first[0]), do="rename one: columns=…")
        return _Fit(names, len(names) or len(cells), header)

    def _row(self, unit: tuple[int, str], fit: _Fit, path: str | Path) -> Row:
        number, text = unit
        cells = self._cells(text)
        if len(cells) != fit.width and (len(cells) < fit.width or self.extra == "refuse"):
            what = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {fit.width}"
            if not text:
                raise FirthError(f"an empty line ({what})", where=lines.at(path, number), do="remove it")
            do = "set extra=keep to allow more" if len(cells) > fit.width else "mend the line"
            raise FirthError(what, where=lines.at(path, number), do=do)
        return Row(tuple(cells), number, fit.names)

    def _line(self, values: Iterable[str]) -> list[str]:
        """A row as one line, or as several where a quoted value holds line ends."""
        values, mark = list(values), self.mark
        if self.quotes == "csv":
            protected = [f'"{v.replace(chr(34), chr(34) * 2)}"' if _needs_quotes(v, mark) else v for v in values]
            return mark.join(protected).split("\n")
        bad = next((value for value in values if mark in value or "\n" in value), None)
        if bad is not None:
            raise FirthError(f"{shown(bad)} has a separator or a line end in it", do="write csv or jsonl instead")
        return [mark.join(values)]


class _Fit(NamedTuple):
    names: tuple[str, ...]
    width: int
    header: bool


def _needs_quotes(value: str, mark: str) -> bool:
    return mark in value or '"' in value or "\n" in value or "\r" in value


def _is_header(cells: list[str]) -> bool:
    if len(cells) == 1:  # a word might be anything
        return cells[0] in HEADERS
    if not all(NAME.fullmatch(cell) and not cell.isdigit() for cell in cells):
        return False
    parts = {part for cell in cells for part in (cell.lower(), LAST_PART.sub("", cell.lower()))}
    return not HEADERS.isdisjoint(parts)


# --- JSON lines -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JsonLines:
    """An object a line; the keys are the columns, those of the first line if none are named."""

    columns: tuple[str, ...] = ()
    extra: Literal["refuse", "keep"] = "refuse"  # keys that are not columns: refuse the line, or leave them out
    missing: Literal["refuse", "null"] = "refuse"  # columns that are not keys
    ascii: Literal["no", "yes"] = "no"  # written with \\u escapes
    endings: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson")
    holds: ClassVar[type] = Row

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Row]:
        """The rows; values that are no strings come as `Json`."""
        reader = _JsonReader(self, path)
        yield from _some(going.parsed(reader.parse, lines.lines(path), report), path)

    def rows(self, records: Iterable[Row]) -> Iterator[str]:
        """The lines of a file with these rows."""
        for row in records:
            names = row.names or self.columns or tuple(str(place) for place in range(1, len(row.values) + 1))
            values = ", ".join(f"{self._dump(name)}: {self._value(value)}" for name, value in zip(names, row.values))  # noqa: B905 (values beyond the names are left out)
            yield f"{{{values}}}"

    def _value(self, value: str) -> str:
        return str(value) if isinstance(value, Json) else self._dump(value)

    def _dump(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.ascii == "yes")


class _JsonReader:
    """One pass over a file; the first line settles the columns."""

    def __init__(self, config: JsonLines, path: str | Path) -> None:
        self.config, self.path, self.names = config, path, config.columns

    def parse(self, unit: tuple[int, str]) -> Row:
        number, line = unit
        where = lines.at(self.path, number)
        if not line.strip():
            raise FirthError("an empty line", where=where, do="remove it")
        found = parse_json(line, self.path, number, _distinct)
        if not isinstance(found, dict):
            raise FirthError("not an object", where=where, do='write {"name": value, …} on each line')
        self.names = self.names or tuple(found)
        absent = [name for name in self.names if name not in found]
        if absent and self.config.missing == "refuse":
            raise FirthError(f"no key {absent[0]!r}", where=where, do="add it, or set missing=null")
        more = [name for name in found if name not in self.names]
        if more and self.config.extra == "refuse":
            raise FirthError(f"a further key {more[0]!r}", where=where, do="name the columns, or set extra=keep")
        return Row(tuple(json_text(found.get(name)) for name in self.names), number, self.names)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


# --- both -----------------------------------------------------------------------------------------------------------


def no_rows(path: str | Path) -> FirthError:
    """The error for a table without a single row."""
    return FirthError("no rows in it", where=path, do="give a file with at least one row")


def _some(found: Iterator[Row], path: str | Path) -> Iterator[Row]:
    empty = True
    for row in found:
        empty = False
        yield row
    if empty:
        raise no_rows(path)
