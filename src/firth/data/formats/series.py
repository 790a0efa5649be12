"""Numeric series out of CSV: times, values, what is known beside them, and marks of anomalies."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import cells, line_safe, number, parse_json, same_count, shown
from firth.data.records import Series
from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    import numpy as np

MISSING = ("", "na", "nan", "n/a", "null", "none", "?", "-")
MARKS = {"0": 0.0, "0.0": 0.0, "false": 0.0, "no": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0, "yes": 1.0}
START = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class SeriesTable:
    """A file with a header is one series; its columns are found by their names."""

    time: str = ""  # the column of times; empty: the first one
    values: tuple[str, ...] = ()  # the columns of values; empty: all that nothing else is said of
    covariates: tuple[str, ...] = ()
    label: str = ""  # the column that marks anomalies with 0 and 1
    windows: str = ""  # a JSON file of anomalies, as NAB has it: times, or windows of times, by the name of the file
    missing: Literal["refuse", "nan"] = "refuse"  # an empty cell, NA or NaN
    order: Literal["check", "sort", "keep"] = "check"  # of the times; check and sort refuse one that comes twice
    separator: str = ","

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Series

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Series]:
        """The one series of the file."""
        rows = lines.lines(path)
        _, header = next(rows, (1, ""))
        layout = self._layout([name.strip() for name in self._cells(header, lines.at(path, 1))], path)
        times, numbers, places = [], array("d"), array("q")
        wanted = (*layout.values, *layout.covariates, *layout.label)
        read = None
        for line, text in rows:
            if not text.strip():
                continue
            found = self._cells(text, where := lines.at(path, line))
            if len(found) != len(layout.names):
                same_count(len(found), len(layout.names), where)
            read = read or (_clock if number(found[layout.time]) is None else _count)
            times.append(read(found[layout.time], where))
            numbers.extend([self._number(found[place], place, layout, where) for place in wanted])
            places.append(line)
        if not times:
            raise FirthError("no row below the header", where=path, do="give at least one time with its values")
        yield self._series(path, layout, times, numbers, places, read is _clock)

    def _cells(self, line: str, where: str) -> list[str]:
        if len(self.separator) != 1 or self.separator in '"\n':
            raise FirthError(f"separator = {self.separator!r}: not one character", do="such as separator=;")
        return cells(line, self.separator, where)

    def _layout(self, names: list[str], path: str | Path) -> Layout:
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            raise FirthError("two columns of the same name", where=lines.at(path, 1), do="rename one")
        told = (*self.values, *self.covariates, *((self.label,) if self.label else ()), self.time or names[0])
        for name in told:
            if name not in place:
                raise unknown("column", name, names, where=lines.at(path, 1))
        if len(set(told)) != len(told):
            raise FirthError("a column has two parts to play", where=lines.at(path, 1), do="name each column once")
        values = self.values or tuple(name for name in names if name not in set(told))
        if not values:
            raise FirthError("no column of values", where=lines.at(path, 1), do="separate time and value by a comma")
        label = (place[self.label],) if self.label else ()
        columns = [tuple(place[name] for name in some) for some in (values, self.covariates)]
        return Layout(tuple(names), place[self.time or names[0]], *columns, label)

    def _number(self, text: str, place: int, layout: Layout, where: str) -> float:
        found = MARKS.get(text.strip().lower()) if place in layout.label else number(text)
        if found is not None:
            return found
        name = layout.names[place]
        if place in layout.label:
            raise FirthError(
                f"{name} = {shown(text)}: no mark", where=where, do="mark anomalies with 1, the rest with 0"
            )
        if text.strip().lower() not in MISSING:
            raise FirthError(f"{name} = {shown(text)}: no finite number", where=where, do="write a number")
        if self.missing == "refuse":
            raise FirthError(f"{name} is missing", where=where, do="fill it, or read with missing=nan")
        return float("nan")

    def _series(
        self, path: str | Path, layout: Layout, times: list[float], numbers: array, places: array, clock: bool
    ) -> Series:
        import numpy as np

        time = np.array(times, "datetime64[s]" if clock else np.float64)
        table = np.frombuffer(numbers, np.float64).reshape(len(times), -1)
        time, table = self._ordered(time, table, places, path)
        first, second = len(layout.values), len(layout.values) + len(layout.covariates)
        anomalous = table[:, second] > 0 if layout.label else None
        if self.windows:
            marked = _windows(Path(self.windows), Path(path), time)
            anomalous = marked if anomalous is None else anomalous | marked
        named = [tuple(layout.names[place] for place in some) for some in (layout.values, layout.covariates)]
        covariates = table[:, first:second].copy() if layout.covariates else None
        return Series(_name(Path(path)), time, table[:, :first].copy(), named[0], covariates, named[1], anomalous)

    def _ordered(self, time: np.ndarray, table: np.ndarray, places: array, path: str | Path) -> tuple:
        import numpy as np

        if self.order == "keep":
            return time, table
        place = np.frombuffer(places, np.int64)
        if self.order == "sort":
            order = np.argsort(time, kind="stable")
            time, table, place = time[order], table[order], place[order]
        wrong = np.flatnonzero(time[1:] <= time[:-1])
        if len(wrong):
            before, at = wrong[0], wrong[0] + 1
            twice = time[before] == time[at]
            what = f"time {time[at]} {'comes twice' if twice else f'is before {time[before]}, which stands above it'}"
            do = "keep one of them, or read with order=keep" if twice else "sort the file, or read with order=sort"
            raise FirthError(what, where=lines.at(path, int(place[at])), do=do)
        return time, table

    def rows(self, records: Iterable[Series]) -> Iterator[str]:
        """The lines of a file with one series; what is missing is an empty cell."""
        found = list(records)
        if len(found) != 1:
            raise FirthError(f"{len(found)} series, but a file holds one", do="write each to a file of its own")
        series = found[0]
        parts = [series.values, *([series.covariates] if series.covariates is not None else [])]
        marked = series.anomalous is not None
        names = (self.time or "time", *series.columns, *series.covariate_columns)
        names += (self.label or "anomalous",) if marked else ()
        yield self.separator.join([line_safe(name, '\n"' + self.separator) for name in names])
        for i, time in enumerate(_written(series.time)):
            numbers = [_plain(value) for part in parts for value in part[i].tolist()]
            yield self.separator.join([time, *numbers, *(str(int(series.anomalous[i])) for _ in range(marked))])


class Layout(NamedTuple):
    """The names of all columns, and which of them are what."""

    names: tuple[str, ...]
    time: int
    values: tuple[int, ...]
    covariates: tuple[int, ...]
    label: tuple[int, ...]  # one or none


def _clock(text: str, where: str) -> int:
    """Seconds since 1970 of an ISO date, with or without a time of day; 1949-01 is its first day."""
    text = text.strip()
    try:
        found = datetime.fromisoformat(f"{text}-01" if len(text) == 7 and text[4] == "-" else text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
        seconds, rest = divmod(found - START, SECOND)
    except (ValueError, OverflowError):
        do = "write 2024-01-31, 2024-01-31 12:30:00 or a number"
        raise FirthError(f"time {shown(text)} does not parse", where=where, do=do) from None
    if rest:
        do = "give the time as a number of seconds"
        raise FirthError(f"time {shown(text)} has a fraction of a second", where=where, do=do)
    return seconds


def _count(text: str, where: str) -> float:
    found = number(text)
    if found is None:
        do = "the first is a number: write all as numbers"
        raise FirthError(f"time {shown(text)} does not parse", where=where, do=do)
    return found


def _windows(path: Path, series: Path, time: np.ndarray) -> np.ndarray:
    """Which times are anomalous, by a file of points and windows."""
    import numpy as np

    table = parse_json(lines.whole(path), path)
    if not isinstance(table, dict):
        raise FirthError("not a JSON object", where=path, do='write {"name.csv": [["from", "to"], …]}')
    plain = (series.with_suffix("") if series.suffix in (".gz", ".xz", ".zst") else series).as_posix()
    key = next((key for key in table if plain == key or plain.endswith(f"/{key}")), None)
    if key is None:
        near = get_close_matches(plain, table, n=1, cutoff=0.1)
        raise FirthError(f"nothing about {plain}", where=path, do=f"the nearest name is {near[0]!r}" if near else "")
    marked = np.zeros(len(time), bool)
    for first, last in _spans(table[key], f"{path} ({key})", time.dtype.kind == "M"):
        first, last = (np.datetime64(edge, "s") if time.dtype.kind == "M" else edge for edge in (first, last))
        marked |= (first <= time) & (time <= last)
    return marked


def _spans(value: Any, where: str, clock: bool) -> Iterator[tuple[float, float]]:
    read = _clock if clock else _count
    for entry in value if isinstance(value, list) else [None]:
        edges = entry if isinstance(entry, list) else [entry, entry]
        if len(edges) != 2 or not all(isinstance(edge, (str, int, float)) for edge in edges):
            raise FirthError("neither a time nor a window", where=where, do='write "from" or ["from", "to"]')
        first, last = (read(str(edge), where) for edge in edges)
        if first > last:
            raise FirthError(f"a window ends before it begins ({shown(str(edges[0]))})", where=where, do="turn it")
        yield first, last


def _name(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in (".gz", ".xz", ".zst") else path).stem


def _written(time: np.ndarray) -> list[str]:
    import numpy as np

    if time.dtype.kind != "M":
        return [_plain(value) for value in time.tolist()]
    days = time.astype("datetime64[D]")
    whole = bool((days.astype(time.dtype) == time).all())
    return np.datetime_as_string(days if whole else time).tolist() if whole else [
        text.replace("T", " ") for text in np.datetime_as_string(time).tolist()
    ]  # fmt: skip


def _plain(value: float) -> str:
    if value != value:
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
