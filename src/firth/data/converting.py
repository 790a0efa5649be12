"""Records into a file of any format that can hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from firth.data import formats, lines, tasks
from firth.data.formats import schemes
from firth.data.records import Labelled, Pair, Record, Row, Sentence, Tagged
from firth.errors import FirthError


def convert(
    records: Iterable[Record],
    out: str | Path,
    new: formats.Format,
    columns: Mapping[str, str] | None = None,
    scheme: str = "",
    task: str = "",
) -> int:
    """Write records (of a task, if that is known) to a file in a format and tagging scheme; how many there were."""
    formats.writable(new)
    count = 0

    def counted() -> Iterator[Record]:
        nonlocal count
        for record in records:
            count += 1
            yield retagged(change(record), scheme) if scheme else change(record)

    change = _change(new, columns or {}, task)
    lines.save(out, new.rows(counted()))
    return count


def retagged(record: Record, scheme: str) -> Tagged:
    """The sentence with its last layer in another tagging scheme."""
    if not isinstance(record, Tagged) or not record.layers:
        raise FirthError("a tagging scheme is for sentences in columns", do="leave --scheme out")
    tags = record.layers[-1]
    old = schemes.detect([tags])
    if old is None and any(tag != schemes.OUTSIDE for tag in tags):
        raise FirthError("the tags follow no scheme", where=f"line {record.line}", do="run firth data check on it")
    return record._replace(layers=(*record.layers[:-1], tuple(schemes.convert(tags, scheme))))


def _change(new: formats.Format, columns: Mapping[str, str], task: str) -> Callable[[Record], Record]:
    """What makes a record fit the new format."""
    if new.holds is Row:
        known = tasks.named(task) if task else None
        return partial(as_row, sides=known.columns[:2]) if known and known.records[0] is Pair else as_row
    name = formats.name_of(new)
    if hasattr(new, "save"):
        raise FirthError(f"format {name} cannot be written as one file", do="write it from Python")
    wanted = getattr(new, "task", "")  # whose examples are such records
    make = tasks.Converter(wanted, columns) if wanted else None

    def change(record: Record) -> Record:
        if type(record) is new.holds:
            return record
        if make is None:
            what = f"{name} holds {new.holds.__name__}, but the file has {type(record).__name__}"
            raise FirthError(what, do="choose another format")
        return make(record)

    return change


def as_row(record: Record, sides: Sequence[str] = ("left", "right")) -> Row:
    """A record as a row of a table, its fields as columns; `sides` are the names of a pair's."""
    if isinstance(record, Row):
        return record
    if isinstance(record, Labelled):
        if len(record.labels) > 1:
            raise FirthError("several labels do not fit a column", where=f"line {record.line}", do="write labels")
        return Row((record.text, *record.labels), record.line, ("text", "label")[: 1 + len(record.labels)])
    if isinstance(record, Pair):
        more = {"label": record.label, "score": None if record.score is None else repr(record.score)}
        kept = {sides[0]: record.left, sides[1]: record.right} | {k: v for k, v in more.items() if v is not None}
        return Row(tuple(kept.values()), record.line, tuple(kept))
    kind = type(record).__name__
    raise FirthError(f"{kind} does not fit a row of a table", do=f"choose a format for {_wanted(record)}")


def _wanted(record: Record) -> str:
    return {Sentence: "trees of words: conllu", Tagged: "sentences: columns"}.get(type(record), "such records")
