"""How the rows of tables become examples: by configured columns, usual names, usual positions, or a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from firth.config.schema import LabelledExamples, TaskExamples
from firth.datasets import column_guess
from firth.datasets.readers import Format
from firth.datasets.readers.tables import Table
from firth.datasets.records import Record, Row
from firth.datasets.tasks import Converter, UnfitError
from firth.datasets.tasks import get_task as task
from firth.errors import FirthError

ORDERED = ("similarity", "translation", "summarisation")  # tables without a header: left, right, score
SAMPLE = 500  # rows by which columns are guessed
Shape = tuple[tuple[str, ...], int]  # the names of the columns, and their number


def silent(_: str) -> None:
    """Say nothing."""


@dataclass
class TableColumns:
    """The columns of the tables of one data set: those of one shape are all read like the first of them."""

    config: LabelledExamples
    say: Callable[[str], None] = silent
    known: dict[Shape, Converter] = field(default_factory=dict)

    def open(self, form: Format, path: object, where: str) -> tuple[Iterator[Record], list[Converter]]:
        """The records of a file, and the converters that may fit them."""
        records = form.read(path)
        if form.record_type is not Row:
            return records, converters(self.config)
        sample = list(islice(records, SAMPLE))
        if sample and not sample[0].names and self._has_header(form, sample):
            return self.open(replace(form, header="yes"), path, where)
        return chain(sample, records), self._converters(sample, where)

    def _has_header(self, form: Format, sample: Sequence[Row]) -> bool:
        """Whether a table without a header of usual names has one of others: given, seen before, or guessed."""
        if not isinstance(form, Table) or form.header != "auto" or form.columns:
            return False
        if given := [name for _, name in map(_column, self.config.columns)]:  # numbers count columns without names
            return set(given) <= set(sample[0].values) and not any(name.isdigit() for name in given)
        return any(names == sample[0].values for names, _ in self.known) or column_guess.has_header(sample)

    def _converters(self, sample: Sequence[Row], where: str) -> list[Converter]:
        if self.config.columns or not sample:
            return converters(self.config)
        shape = (sample[0].names, 0 if sample[0].names else len(sample[0].values))
        if shape not in self.known:
            convert = self._choose(sample, where)
            if convert is None:
                return converters(self.config)
            self.known[shape] = convert
            described = ",".join(f"{role}={name}" for role, name in convert.columns.items())
            self.say(f"{where}: columns {described.replace(',', ', ')}; to change: --set data.columns={described}")
        return [self.known[shape]]

    def _choose(self, sample: Sequence[Row], where: str) -> Converter | None:
        """The converter by usual names or positions if it fits the sample, else by a guess; None if nothing fits."""
        usual = first_fitting(sample[0], converters(self.config))
        by_position = usual is not None and bool(usual.columns)
        spare = by_position and len(sample[0].values) > len(usual.columns)
        if usual is not None and not spare:
            return _with_columns(usual, sample[0])
        try:
            guess = column_guess.guess_columns(sample, self.config.tasks, where)
        except UnfitError:
            if usual is None:
                raise
            guess = None
        if guess and all(task(guess[0]).columns):
            return Converter(*guess)
        return usual


def _with_columns(convert: Converter, row: Row) -> Converter:
    """The converter with the names of the columns that it finds by their usual names."""
    if convert.columns or not row.names:
        return convert
    return Converter(convert.name, {role: row.names[at] for role, at in convert.positions(row).items()})


def guess_table(form: Format, path: object, task_name: str) -> tuple[Format, dict[str, str]]:
    """The format, with a header if the table has one of unusual names, and the column of each role of the task."""
    if form.record_type is not Row or not task(task_name).columns:
        return form, {}
    tables = TableColumns(TaskExamples(tasks=(task_name,)))
    try:
        records, [convert] = tables.open(form, path, str(path))
        first = next(records)
    except UnfitError:
        raise
    except FirthError:  # the check reports it, and all others
        return form, {}
    is_header = isinstance(form, Table) and bool(first.names) and not next(form.read(path)).names
    return (replace(form, header="yes") if is_header else form), dict(convert.columns)


def converters(config: LabelledExamples) -> list[Converter]:
    """Converters of the tasks that have the configured columns, or of the first task, whose error explains."""
    columns = dict(_column(setting) for setting in config.columns)
    kinds = [kind for kind in config.tasks if set(columns) <= {*task(kind).columns, *task(kind).optional}]
    return [Converter(kind, columns) for kind in kinds or config.tasks[:1]]


def _column(setting: str) -> tuple[str, str]:
    role, equals, name = setting.partition("=")
    if not (role and equals and name):
        what = f"cannot read {setting!r}"
        raise FirthError(what, where="data.columns", do="write role=column pairs: text=body,label=class")
    return role, name


def first_fitting(record: Record, candidates: Sequence[Converter]) -> Converter | None:
    """The first converter that fits the record."""
    for plain in candidates:
        convert = _by_position(plain) if isinstance(record, Row) and not record.names else plain
        try:
            convert(record)
        except FirthError:
            continue
        return convert
    return None


def _by_position(convert: Converter) -> Converter:
    """The converter by column numbers, for tables without a header whose column order is fixed."""
    if convert.columns or convert.name not in ORDERED:
        return convert
    return Converter(convert.name, {role: str(number) for number, role in enumerate(convert.task.columns, 1)})


def name_columns(convert: Converter) -> str:
    """What to do about a table whose columns are not found."""
    columns = ",".join(f"{role}={number}" for number, role in enumerate(convert.task.columns, 1))
    return f"name the columns, by name or by number: --set data.columns={columns}"
