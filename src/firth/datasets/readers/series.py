"""Time series in CSV: timestamps, values, covariates, and labels of anomalies."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import check_column_count, parse_json, parse_number, quote, require_cell, split_cells
from firth.datasets.records import Series
from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    import numpy as np

MISSING = ("", "na", "nan", "n/a", "null", "none", "?", "-")
ANOMALY_LABELS = {"0": 0.0, "0.0": 0.0, "false": 0.0, "no": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0, "yes": 1.0}
START = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class SeriesTable:
    """One time series per file; its columns are found by their names in the header."""

    time: str = ""  # the column of times; empty: the first one
    values: tuple[str, ...] = ()  # the columns of values; empty: all others
    covariates: tuple[str, ...] = ()
    label: str = ""  # the column of anomaly labels, 0 or 1
    windows: str = ""  # a JSON file of anomalies as in NAB: times, or windows of times, by the name of the file
    missing: Literal["refuse", "nan"] = "refuse"  # an empty cell, NA or NaN
    order: Literal["check", "sort", "keep"] = "check"  # of the times; check and sort refuse duplicates
    separator: str = ","

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Series

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Series]:
        """The one series of the file."""
        rows = numbered_lines.lines(path)
        _, header = next(rows, (1, ""))
        layout = self._layout([name.strip() for name in self._cells(header, numbered_lines.at(path, 1))], path)
        times, numbers, lines = [], array("d"), array("q")
        positions = (*layout.values, *layout.covariates, *layout.label)
        parse_time = None
        for line, text in rows:
            if not text.strip():
                continue
            cells = self._cells(text, where := numbered_lines.at(path, line))
            if len(cells) != len(layout.names):
                check_column_count(len(cells), len(layout.names), where)
            time = cells[layout.time]
            parse_time = parse_time or (_parse_timestamp if parse_number(time) is None else _parse_time_number)
            times.append(parse_time(time, where))
            numbers.extend([self._number(cells[position], position, layout, where) for position in positions])
            lines.append(line)
        if not times:
            raise FirthError("no row below the header", where=path, do="give at least one time with its values")
        yield self._series(path, layout, times, numbers, lines, parse_time is _parse_timestamp)

    def _cells(self, line: str, where: str) -> list[str]:
        if len(self.separator) != 1 or self.separator in '"\n':
            raise FirthError(f"separator = {self.separator!r}: not one character", do="such as separator=;")
        return split_cells(line, self.separator, where)

    def _layout(self, names: list[str], path: str | Path) -> Layout:
        position = {name: i for i, name in enumerate(names)}
        if len(position) != len(names):
            raise FirthError("two columns of the same name", where=numbered_lines.at(path, 1), do="rename one")
        named = (*self.values, *self.covariates, *((self.label,) if self.label else ()), self.time or names[0])
        for name in named:
            if name not in position:
                raise unknown("column", name, names, where=numbered_lines.at(path, 1))
        if len(set(named)) != len(named):
            raise FirthError("a column has two roles", where=numbered_lines.at(path, 1), do="name each column once")
        values = self.values or tuple(name for name in names if name not in set(named))
        if not values:
            raise FirthError(
                "no column of values", where=numbered_lines.at(path, 1), do="separate time and value by a comma"
            )
        label = (position[self.label],) if self.label else ()
        columns = [tuple(position[name] for name in some) for some in (values, self.covariates)]
        return Layout(tuple(names), position[self.time or names[0]], *columns, label)

    def _number(self, text: str, position: int, layout: Layout, where: str) -> float:
        value = ANOMALY_LABELS.get(text.strip().lower()) if position in layout.label else parse_number(text)
        if value is not None:
            return value
        name = layout.names[position]
        if position in layout.label:
            raise FirthError(
                f"{name} = {quote(text)}: not a label", where=where, do="label anomalies with 1, the rest with 0"
            )
        if text.strip().lower() not in MISSING:
            raise FirthError(f"{name} = {quote(text)}: not a finite number", where=where, do="write a number")
        if self.missing == "refuse":
            raise FirthError(f"{name} is missing", where=where, do="fill it, or read with missing=nan")
        return float("nan")

    def _series(
        self, path: str | Path, layout: Layout, times: list[float], numbers: array, lines: array, clock: bool
    ) -> Series:
        import numpy as np

        time = np.array(times, "datetime64[s]" if clock else np.float64)
        table = np.frombuffer(numbers, np.float64).reshape(len(times), -1)
        time, table = self._ordered(time, table, lines, path)
        first, second = len(layout.values), len(layout.values) + len(layout.covariates)
        anomalous = table[:, second] > 0 if layout.label else None
        if self.windows:
            marked = _windows(Path(self.windows), Path(path), time)
            anomalous = marked if anomalous is None else anomalous | marked
        named = [tuple(layout.names[position] for position in some) for some in (layout.values, layout.covariates)]
        covariates = table[:, first:second].copy() if layout.covariates else None
        return Series(_name(Path(path)), time, table[:, :first].copy(), named[0], covariates, named[1], anomalous)

    def _ordered(self, time: np.ndarray, table: np.ndarray, lines: array, path: str | Path) -> tuple:
        import numpy as np

        if self.order == "keep":
            return time, table
        line = np.frombuffer(lines, np.int64)
        if self.order == "sort":
            order = np.argsort(time, kind="stable")
            time, table, line = time[order], table[order], line[order]
        wrong = np.flatnonzero(time[1:] <= time[:-1])
        if len(wrong):
            before, at = wrong[0], wrong[0] + 1
            twice = time[before] == time[at]
            what = f"time {time[at]} {'occurs twice' if twice else f'is before {time[before]}, which precedes it'}"
            do = "keep one of them, or read with order=keep" if twice else "sort the file, or read with order=sort"
            raise FirthError(what, where=numbered_lines.at(path, int(line[at])), do=do)
        return time, table

    def rows(self, records: Iterable[Series]) -> Iterator[str]:
        """The lines of a file with one series; missing values are empty cells."""
        all_series = list(records)
        if len(all_series) != 1:
            raise FirthError(f"{len(all_series)} series, but a file holds one", do="write each to a file of its own")
        series = all_series[0]
        parts = [series.values, *([series.covariates] if series.covariates is not None else [])]
        labelled = series.anomalous is not None
        names = (self.time or "time", *series.columns, *series.covariate_columns)
        names += (self.label or "anomalous",) if labelled else ()
        yield self.separator.join([require_cell(name, '\n"' + self.separator) for name in names])
        for i, time in enumerate(_format_times(series.time)):
            numbers = [_format_number(value) for part in parts for value in part[i].tolist()]
            yield self.separator.join([time, *numbers, *(str(int(series.anomalous[i])) for _ in range(labelled))])


class Layout(NamedTuple):
    """The names of all columns, and the positions of each role."""

    names: tuple[str, ...]
    time: int
    values: tuple[int, ...]
    covariates: tuple[int, ...]
    label: tuple[int, ...]  # one or none


def _parse_timestamp(text: str, where: str) -> int:
    """Seconds since 1970 of an ISO date, with or without a time of day; 1949-01 is the first of the month."""
    text = text.strip()
    try:
        timestamp = datetime.fromisoformat(f"{text}-01" if len(text) == 7 and text[4] == "-" else text)
        timestamp = timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp
        seconds, rest = divmod(timestamp - START, SECOND)
    except (ValueError, OverflowError):
        do = "write 2024-01-31, 2024-01-31 12:30:00 or a number"
        raise FirthError(f"time {quote(text)} does not parse", where=where, do=do) from None
    if rest:
        do = "give the time as a number of seconds"
        raise FirthError(f"time {quote(text)} has a fraction of a second", where=where, do=do)
    return seconds


def _parse_time_number(text: str, where: str) -> float:
    value = parse_number(text)
    if value is None:
        do = "the first is a number: write all as numbers"
        raise FirthError(f"time {quote(text)} does not parse", where=where, do=do)
    return value


def _windows(path: Path, series: Path, time: np.ndarray) -> np.ndarray:
    """Which times are anomalous according to a file of points and windows (time,)."""
    import numpy as np

    table = parse_json(numbered_lines.read_whole(path), path)
    if not isinstance(table, dict):
        raise FirthError("not a JSON object", where=path, do='write {"name.csv": [["from", "to"], …]}')
    plain = (series.with_suffix("") if series.suffix in (".gz", ".xz", ".zst") else series).as_posix()
    key = next((key for key in table if plain == key or plain.endswith(f"/{key}")), None)
    if key is None:
        near = get_close_matches(plain, table, n=1, cutoff=0.1)
        raise FirthError(f"nothing about {plain}", where=path, do=f"the nearest name is {near[0]!r}" if near else "")
    anomalous = np.zeros(len(time), bool)
    for first, last in _spans(table[key], f"{path} ({key})", time.dtype.kind == "M"):
        first, last = (np.datetime64(edge, "s") if time.dtype.kind == "M" else edge for edge in (first, last))
        anomalous |= (first <= time) & (time <= last)
    return anomalous


def _spans(value: Any, where: str, clock: bool) -> Iterator[tuple[float, float]]:
    parse_time = _parse_timestamp if clock else _parse_time_number
    for entry in value if isinstance(value, list) else [None]:
        edges = entry if isinstance(entry, list) else [entry, entry]
        if len(edges) != 2 or not all(isinstance(edge, (str, int, float)) for edge in edges):
            raise FirthError("neither a time nor a window", where=where, do='write "from" or ["from", "to"]')
        first, last = (parse_time(str(edge), where) for edge in edges)
        if first > last:
            raise FirthError(
                f"a window ends before it begins ({quote(str(edges[0]))})", where=where, do="swap its ends"
            )
        yield first, last


def _name(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in (".gz", ".xz", ".zst") else path).stem


def _format_times(time: np.ndarray) -> list[str]:
    import numpy as np

    if time.dtype.kind != "M":
        return [_format_number(value) for value in time.tolist()]
    days = time.astype("datetime64[D]")
    whole = bool((days.astype(time.dtype) == time).all())
    return np.datetime_as_string(days if whole else time).tolist() if whole else [
        text.replace("T", " ") for text in np.datetime_as_string(time).tolist()
    ]  # fmt: skip


def _format_number(value: float) -> str:
    if value != value:
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
