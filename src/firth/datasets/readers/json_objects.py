"""Objects of JSON lines with checked values: the common part of formats that have one object per line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import parse_json
from firth.errors import FirthError

Record = TypeVar("Record")
NAMES = {str: "text", list: "a list", dict: "an object", int: "an integer"}


@dataclass(frozen=True)
class JsonObject:
    """An object with its file and line, and the path within the line, for errors."""

    values: dict[str, Any]
    path: str | Path
    line: int
    inside: str = ""

    def error(self, what: str, do: str = "correct the line") -> FirthError:
        """An error at this line."""
        return FirthError(what, where=numbered_lines.at(self.path, self.line), do=do)

    def get(self, key: str, kind: type) -> Any:
        """The value of a key that must be there, of this type."""
        if key not in self.values:
            raise self.error(f"no key {self.inside + key!r}", "add it")
        return self.typed(self.values[key], kind, key)

    def typed(self, value: Any, kind: type, name: str) -> Any:
        """The value, if it has this type."""
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(f"{self.inside + name} is not {NAMES[kind]}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """The value of a key that must be a list of texts."""
        values = self.get(key, list)
        return tuple([self.typed(value, str, f"{key}[{n}]") for n, value in enumerate(values)])

    def item(self, value: Any, name: str) -> JsonObject:
        """An object within this one."""
        return JsonObject(self.typed(value, dict, name), self.path, self.line, f"{self.inside}{name}.")

    def only(self, known: Sequence[str], extra: str) -> None:
        """Refuse further keys, unless they are left out."""
        further = next((key for key in self.values if key not in known), None) if extra == "refuse" else None
        if further is not None:
            raise self.error(f"a further key {self.inside + further!r}", "remove it, or set extra=drop to leave it out")


def read_objects(
    path: str | Path, parse: Callable[[JsonObject], Record], report: fault_report.Report | None
) -> Iterator[Record]:
    """What `parse` makes of the object on each line; blank lines are skipped."""

    def parse_line(unit: tuple[int, str]) -> Record:
        number, line = unit
        value = parse_json(line, path, number)
        if not isinstance(value, dict):
            where = numbered_lines.at(path, number)
            raise FirthError("not an object", where=where, do="write one {…} on each line")
        return parse(JsonObject(value, path, number))

    units = ((number, line) for number, line in numbered_lines.lines(path) if line.strip())
    return fault_report.parse_all(parse_line, units, report)
