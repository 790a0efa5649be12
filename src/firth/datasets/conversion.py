"""Conversion of records to a file of any format that can hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from firth.datasets import numbered_lines, readers, tasks
from firth.datasets.readers import tag_schemes
from firth.datasets.records import Labelled, Pair, Record, Row, Sentence, Tagged
from firth.errors import FirthError


def convert(
    records: Iterable[Record],
    out: str | Path,
    target_format: readers.Format,
    columns: Mapping[str, str] | None = None,
    scheme: str = "",
    task: str = "",
    source: str | Path = "",
) -> int:
    """Write records (of a task, if it is known) to a file in a format and tagging scheme; return their number. From a
    `source` in the same format and in UTF-8, line ends and byte order mark are kept."""
    readers.writable(target_format)
    count = 0

    def counted() -> Iterator[Record]:
        nonlocal count
        for record in records:
            count += 1
            yield convert_tags(convert_record(record), scheme) if scheme else convert_record(record)

    convert_record = _record_converter(target_format, columns or {}, task)
    line_format = numbered_lines.detect_line_format(source) if source else numbered_lines.UNIX
    numbered_lines.save_lines(out, target_format.rows(counted()), line_format)
    return count


def convert_tags(record: Record, scheme: str) -> Tagged:
    """The sentence with the tags of its last layer in another tagging scheme."""
    if not isinstance(record, Tagged) or not record.layers:
        raise FirthError("a tagging scheme is for sentences in columns", do="leave --scheme out")
    tags = record.layers[-1]
    old = tag_schemes.detect([tags])
    if old is None and any(tag != tag_schemes.OUTSIDE for tag in tags):
        raise FirthError(
            "the tags follow no tagging scheme", where=f"line {record.line}", do="run firth data check on it"
        )
    return record._replace(layers=(*record.layers[:-1], tuple(tag_schemes.convert(tags, scheme))))


def _record_converter(
    target_format: readers.Format, columns: Mapping[str, str], task: str
) -> Callable[[Record], Record]:
    """The function that converts a record to what the target format holds."""
    if target_format.record_type is Row:
        known = tasks.get_task(task) if task else None
        return partial(as_row, sides=known.columns[:2]) if known and known.records[0] is Pair else as_row
    name = readers.format_name(target_format)
    if hasattr(target_format, "save"):
        raise FirthError(f"format {name} cannot be written as one file", do="write it from Python")
    task_name = getattr(target_format, "task", "")  # whose examples are such records
    converter = tasks.Converter(task_name, columns) if task_name else None

    def convert_record(record: Record) -> Record:
        if type(record) is target_format.record_type:
            return record
        if converter is None:
            what = f"{name} holds {target_format.record_type.__name__}, but the file has {type(record).__name__}"
            raise FirthError(what, do="choose another format")
        return converter(record)

    return convert_record


def as_row(record: Record, sides: Sequence[str] = ("left", "right")) -> Row:
    """A record as a row of a table, its fields as columns; `sides` are the column names of a pair's texts."""
    if isinstance(record, Row):
        return record
    if isinstance(record, Labelled):
        if len(record.labels) > 1:
            raise FirthError("several labels do not fit a column", where=f"line {record.line}", do="write labels")
        return Row((record.text, *record.labels), record.line, ("text", "label")[: 1 + len(record.labels)])
    if isinstance(record, Pair):
        optional = {"label": record.label, "score": None if record.score is None else repr(record.score)}
        cells = {sides[0]: record.left, sides[1]: record.right} | {k: v for k, v in optional.items() if v is not None}
        return Row(tuple(cells.values()), record.line, tuple(cells))
    kind = type(record).__name__
    raise FirthError(f"{kind} does not fit a row of a table", do=f"choose a format for {_suitable_format(record)}")


def _suitable_format(record: Record) -> str:
    return {Sentence: "dependency trees: conllu", Tagged: "tagged sentences: columns"}.get(type(record), "such records")
