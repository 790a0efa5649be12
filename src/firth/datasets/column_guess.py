"""Which columns of a table are its texts, labels and scores, from the names of the columns and a sample of the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from firth.datasets.readers.values import parse_int, parse_number, quote
from firth.datasets.records import Row
from firth.datasets.tasks import COLUMN_NAMES, UnfitError, get_task

TEXT_ROLES = ("text", "left", "right", "summary")
IDS = frozenset({"id", "idx", "index", "guid", "uid", "no", "nr", "number", "line", "key"})
# What a column of few values may be besides the label.
OTHERS = frozenset({"split", "language", "lang", "genre", "source", "date", "year", "month", "day", "time", "author"})
NAME = re.compile(r"[^\W\d][\w.#-]{0,39}")
CODE = re.compile(r"(?=\D*\d)[\w.:/-]+")  # such as doc-17
MAX_LABELS = 200
MAX_LABEL = 30  # characters on average
MIN_HEADER_ROWS = 5
FEW_ROWS = 10  # among which labels need not occur again


@dataclass(frozen=True)
class Column:
    """A column of a sample; `name` is its number (from 1) if the table has no header."""

    name: str
    values: tuple[str, ...]
    is_named: bool

    @cached_property
    def distinct(self) -> int:
        """The number of different values."""
        return len(set(self.values))

    @cached_property
    def length(self) -> float:
        """The mean length in characters."""
        return sum(map(len, self.values)) / len(self.values)

    @cached_property
    def words(self) -> float:
        """The mean length in words."""
        return sum(len(value.split()) for value in self.values) / len(self.values)

    @cached_property
    def is_number(self) -> bool:
        """Whether all values are numbers."""
        return all(parse_number(value) is not None for value in self.values)

    @cached_property
    def is_id(self) -> bool:
        """Whether it only numbers or names the rows."""
        name = self.name.lower()
        if self.is_named and (name in IDS or name.endswith(("_id", " id", "-id"))):
            return True
        if self.distinct < len(self.values) or len(self.values) < 2:
            return False
        integers = [parse_int(value) for value in self.values]
        if None not in integers:
            return all(after > before for before, after in pairwise(integers))
        return not self.is_number and all(map(CODE.fullmatch, self.values))

    @cached_property
    def is_text(self) -> bool:
        """Whether the values look like texts: mostly different, or of several words (a premise may occur again)."""
        return not self.is_id and not self.is_number and (self.distinct * 2 > len(self.values) or self.words >= 3)

    @cached_property
    def is_label(self) -> bool:
        """Whether the values look like labels: few, short, and each of them on average twice."""
        few = 2 <= self.distinct <= min(len(self.values) // 2, MAX_LABELS)
        short = self.length <= MAX_LABEL and self.words < 3 and all(self.values)
        fraction = self.is_number and any(parse_int(value) is None for value in self.values)
        return few and short and not fraction and not self.is_id

    def is_short_beside(self, others: Iterable[Column]) -> bool:
        """Whether this is a column of single words beside one of texts, in too small a sample to see values again."""
        longest = max((other.length for other in others), default=0)
        single = self.words <= 1.2 and self.distinct >= 2 and all(self.values)
        return single and len(self.values) < FEW_ROWS and longest >= 3 * self.length and not self.is_id


def has_header(rows: Sequence[Row]) -> bool:
    """Whether the first row of a table that declares no header is one: names over numbers, labels or texts."""
    first, rest = rows[0].values, rows[1:]
    if len(rest) < MIN_HEADER_ROWS or len(set(first)) < len(first) or not all(map(NAME.fullmatch, first)):
        return False
    columns = [Column("", tuple(row.values[n] for row in rest), False) for n in range(len(first))]
    over_numbers = any(column.is_number for column in columns)
    over_labels = any(
        column.is_label and column.distinct * 3 <= len(rest) and name not in column.values
        for name, column in zip(first, columns, strict=True)
    )
    return over_numbers or (over_labels and any(column.words >= 3 for column in columns))


def guess_columns(rows: Sequence[Row], tasks: Sequence[str], where: str) -> tuple[str, dict[str, str]] | None:
    """The first task whose columns the table has, and the column of each role; None if it fits no task.

    An error if a role could be either of two columns.
    """
    chosen, ambiguous = [], []
    for task in tasks:
        try:
            roles = _guess(rows, task, where)
        except UnfitError as error:
            ambiguous.append(error)
        else:
            chosen += [(task, roles)] if roles else []
    if not chosen and ambiguous:
        raise ambiguous[0]
    return chosen[0] if chosen else None


def _guess(rows: Sequence[Row], task: str, where: str) -> dict[str, str]:
    """The column of each role of a task; empty if some role has none."""
    columns = columns_of(rows)
    roles = get_task(task).columns
    chosen = _by_name(columns, roles)
    left = [column for column in columns if column not in chosen.values()]
    missing = [role for role in roles if role not in chosen]
    for role, candidates in (("label", _labels(left)), ("score", [c for c in left if c.is_number and not c.is_id])):
        if role not in missing or not candidates:
            continue
        if len(candidates) > 1:
            raise _ambiguous(role, candidates, task, columns, where)
        chosen[role] = candidates[0]
        left.remove(candidates[0])
    wanted = [role for role in missing if role in TEXT_ROLES]
    texts = [column for column in left if column.is_text]
    if wanted and len(texts) > len(wanted) and len(chosen) + len(wanted) == len(roles):
        raise _ambiguous(wanted[0], texts, task, columns, where)
    if len(texts) == len(wanted):
        chosen |= zip(wanted, _in_order(texts, task), strict=True)
    return {role: chosen[role].name for role in roles} if len(chosen) == len(roles) else {}


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of some rows of one table."""
    width = min(len(row.values) for row in rows)
    names = rows[0].names
    return [
        Column(names[n] if n < len(names) else str(n + 1), tuple(row.values[n] for row in rows), bool(names))
        for n in range(width)
    ]


def _by_name(columns: Sequence[Column], roles: Sequence[str]) -> dict[str, Column]:
    """The columns of roles with a usual name."""
    chosen: dict[str, Column] = {}
    named = {column.name.lower(): column for column in columns if column.is_named}
    for role in roles:
        name = next((name for name in COLUMN_NAMES[role] if name in named), None)
        if name:
            chosen[role] = named.pop(name)
    return chosen


def _labels(columns: Sequence[Column]) -> list[Column]:
    """The columns that may be the label."""
    strict = [column for column in columns if column.is_label]
    plain = [column for column in strict if not (column.is_named and column.name.lower() in OTHERS)]
    return plain or strict or [column for column in columns if column.is_short_beside(columns)]


def _in_order(texts: list[Column], task: str) -> list[Column]:
    """The texts in the order of the task's roles: a summary is the shorter of two."""
    return sorted(texts, key=lambda column: -column.length) if task == "summarisation" else texts


def _ambiguous(role: str, candidates: Sequence[Column], task: str, columns: Sequence[Column], where: str) -> UnfitError:
    names = [quote(column.name) if column.is_named else column.name for column in candidates]
    shown = f"{', '.join(names[:-1])} or {names[-1]}"
    named = _by_name(columns, get_task(task).columns)
    taken = {candidate.name for candidate in candidates}
    others = sorted((each for each in columns if each.name not in taken), key=lambda each: not each.is_text)
    roles = get_task(task).columns
    chosen = {each: named[each].name if each in named else "" for each in roles} | {role: candidates[0].name}
    spare = [column.name for column in (*others, *candidates[1:]) if column.name not in chosen.values()]
    example = ",".join(f"{each}={name or (spare.pop(0) if spare else 'NAME')}" for each, name in chosen.items())
    return UnfitError(f"which column is the {role}: {shown}?", where=where, do=f"say it: --set data.columns={example}")
