"""Tables: TSV, CSV and JSON lines. A row's values are text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import Json, json_text, parse_json, quote
from firth.datasets.records import Row
from firth.errors import FirthError

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "blank": " "}
# A first line whose cells all look like names is a header if one of them is one of these.
# fmt: off
HEADERS = frozenset({
    "answer", "body", "category", "class", "completion", "date", "day", "genre", "gold", "hypothesis", "id",
    "index", "instruction", "judgment", "label", "labels", "language", "left", "month", "name", "premise", "prompt",
    "quality", "question", "rating", "relatedness", "response", "right", "score", "sentence", "sentiment",
    "similarity", "source", "split", "stars", "subject", "summary", "tag", "target", "text", "time", "timestamp",
    "title", "topic", "value", "word", "year",
})
# fmt: on
NAME = re.compile(r"[#\w][\w #.-]{0,39}|")
LAST_PART = re.compile(r"[_ .-]?(id|[a-d]|[0-9]+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Rows of values; `columns` names them, in place of a header's names if there is one."""

    separator: str = "\t"  # or tab, comma, semicolon, bar, blank
    columns: tuple[str, ...] = ()
    header: Literal["auto", "yes", "no"] = "auto"  # auto: no if columns are named, else by the first line
    quotes: Literal["none", "csv"] = "none"  # csv: "a, b" is one value, "" in it a quote
    extra: Literal["refuse", "keep"] = "refuse"  # values beyond the last column
    extensions: ClassVar[tuple[str, ...]] = ("tsv", "tab")
    record_type: ClassVar[type] = Row

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Row]:
        """The rows; all must have as many columns as the first."""
        units = self._units(path)
        first = next(units, None)
        if first is None:
            raise no_rows(path)
        layout = self._detect_layout(first, path)
        units = units if layout.header else chain([first], units)
        rows = fault_report.parse_all(partial(self._row, layout=layout, path=path), units, report)
        yield from _require_rows(rows, path)

    def rows(self, records: Iterable[Row]) -> Iterator[str]:
        """The lines of a file with these rows, under a header if the format or the rows have one."""
        for number, row in enumerate(records):
            if number == 0 and row.names and (self.header == "yes" or (self.header == "auto" and not self.columns)):
                yield from self._line(row.names)
            yield from self._line(row.values)

    @property
    def delimiter(self) -> str:
        """The delimiter between two values."""
        delimiter = SEPARATORS.get(self.separator, self.separator)
        if not delimiter or "\n" in delimiter or (self.quotes == "csv" and (len(delimiter) > 1 or delimiter == '"')):
            raise FirthError(f"separator {self.separator!r}", do=f"give a character or one of {', '.join(SEPARATORS)}")
        return delimiter

    def _units(self, path: str | Path) -> Iterator[tuple[int, str]]:
        """Rows as text, with the number of their first line: a quoted value may contain line ends."""
        if self.quotes == "none":
            yield from numbered_lines.lines(path)
            return
        lines: list[str] = []
        first, is_open = 0, False
        for number, line in numbered_lines.lines(path):
            first = first if lines else number
            lines.append(line)
            is_open ^= line.count('"') % 2 == 1
            if not is_open:
                yield first, "\n".join(lines)
                lines = []
        if lines:
            do = "close it, or set quotes=none if quotes have no meaning in this file"
            raise FirthError("an unclosed quote", where=numbered_lines.at(path, first), do=do)

    def _cells(self, text: str) -> list[str]:
        if self.quotes == "none" or '"' not in text:
            return text.split(self.delimiter)
        delimiter = re.escape(self.delimiter)
        matches = re.findall(rf'(?:"((?:[^"]|"")*)"(?={delimiter}|\Z)|([^{delimiter}]*))(?:{delimiter}|\Z)', text)
        if not text.endswith(self.delimiter):  # else the empty match at the end is the last value
            matches.pop()
        return [quoted.replace('""', '"') or bare for quoted, bare in matches]

    def _detect_layout(self, first: tuple[int, str], path: str | Path) -> _Layout:
        cells = self._cells(first[1])
        header = self.header == "yes" or (self.header == "auto" and not self.columns and _is_header(cells))
        if self.columns and not header and tuple(cells) == self.columns:
            raise FirthError("the first line is a header", where=numbered_lines.at(path, first[0]), do="set header=yes")
        if header and self.columns and len(cells) != len(self.columns):
            what = f"a header of {len(cells)} columns, but {len(self.columns)} are named"
            raise FirthError(what, where=numbered_lines.at(path, first[0]), do="name all columns, or none")
        names = self.columns or (tuple(cells) if header else ())
        duplicate = next((name for name in names if name not in ("", "_") and names.count(name) > 1), None)
        if duplicate is not None:
            raise FirthError(
                f"two columns {duplicate!r}", where=numbered_lines.at(path, first[0]), do="rename one: columns=…"
            )
        return _Layout(names, len(names) or len(cells), header)

    def _row(self, unit: tuple[int, str], layout: _Layout, path: str | Path) -> Row:
        number, text = unit
        cells = self._cells(text)
        if len(cells) != layout.width and (len(cells) < layout.width or self.extra == "refuse"):
            what = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {layout.width}"
            if not text:
                raise FirthError(f"an empty line ({what})", where=numbered_lines.at(path, number), do="remove it")
            do = "set extra=keep to allow more" if len(cells) > layout.width else "correct the line"
            raise FirthError(what, where=numbered_lines.at(path, number), do=do)
        return Row(tuple(cells), number, layout.names)

    def _line(self, values: Iterable[str]) -> list[str]:
        """A row as one line, or as several if a quoted value contains line ends."""
        values, delimiter = list(values), self.delimiter
        if self.quotes == "csv":
            quoted = [f'"{v.replace(chr(34), chr(34) * 2)}"' if _needs_quotes(v, delimiter) else v for v in values]
            return delimiter.join(quoted).split("\n")
        bad = next((value for value in values if delimiter in value or "\n" in value), None)
        if bad is not None:
            raise FirthError(f"{quote(bad)} has a separator or a line end in it", do="write csv or jsonl instead")
        return [delimiter.join(values)]


class _Layout(NamedTuple):
    names: tuple[str, ...]
    width: int
    header: bool


def _needs_quotes(value: str, delimiter: str) -> bool:
    return delimiter in value or '"' in value or "\n" in value or "\r" in value


def _is_header(cells: list[str]) -> bool:
    if len(cells) == 1:  # a single word may be a value
        return cells[0] in HEADERS
    if not all(NAME.fullmatch(cell) and not cell.isdigit() for cell in cells):
        return False
    parts = {part for cell in cells for part in (cell.lower(), LAST_PART.sub("", cell.lower()))}
    return not HEADERS.isdisjoint(parts)


# --- JSON lines -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JsonLines:
    """One JSON object per line; the keys are the columns, those of the first line if none are named."""

    columns: tuple[str, ...] = ()
    extra: Literal["refuse", "keep"] = "refuse"  # keys that are not columns: refuse the line, or drop them
    missing: Literal["refuse", "null"] = "refuse"  # columns that are not keys
    ascii: Literal["no", "yes"] = "no"  # written with \\u escapes
    extensions: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson")
    record_type: ClassVar[type] = Row

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Row]:
        """The rows; values other than strings are `Json`."""
        reader = _JsonReader(self, path)
        yield from _require_rows(fault_report.parse_all(reader.parse, numbered_lines.lines(path), report), path)

    def rows(self, records: Iterable[Row]) -> Iterator[str]:
        """The lines of a file with these rows."""
        for row in records:
            names = row.names or self.columns or tuple(str(number) for number in range(1, len(row.values) + 1))
            values = ", ".join(f"{self._dump(name)}: {self._value(value)}" for name, value in zip(names, row.values))  # noqa: B905 (values beyond the names are left out)
            yield f"{{{values}}}"

    def _value(self, value: str) -> str:
        return str(value) if isinstance(value, Json) else self._dump(value)

    def _dump(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.ascii == "yes")


class _JsonReader:
    """One pass over a file; the first line decides the columns."""

    def __init__(self, config: JsonLines, path: str | Path) -> None:
        self.config, self.path, self.names = config, path, config.columns

    def parse(self, unit: tuple[int, str]) -> Row:
        number, line = unit
        where = numbered_lines.at(self.path, number)
        if not line.strip():
            raise FirthError("an empty line", where=where, do="remove it")
        values = parse_json(line, self.path, number, _distinct)
        if not isinstance(values, dict):
            raise FirthError("not an object", where=where, do='write {"name": value, …} on each line')
        self.names = self.names or tuple(values)
        absent = [name for name in self.names if name not in values]
        if absent and self.config.missing == "refuse":
            raise FirthError(f"no key {absent[0]!r}", where=where, do="add it, or set missing=null")
        further = [name for name in values if name not in self.names]
        if further and self.config.extra == "refuse":
            raise FirthError(f"a further key {further[0]!r}", where=where, do="name the columns, or set extra=keep")
        return Row(tuple(json_text(values.get(name)) for name in self.names), number, self.names)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return values


# --- both -----------------------------------------------------------------------------------------------------------


def no_rows(path: str | Path) -> FirthError:
    """The error for a table without a single row."""
    return FirthError("no rows in it", where=path, do="give a file with at least one row")


def _require_rows(rows: Iterator[Row], path: str | Path) -> Iterator[Row]:
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise no_rows(path)
