"""N-best lists of a recogniser: one hypothesis per line, with the id of its utterance and its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import check_column_count, parse_number, quote, require_cell
from firth.datasets.records import Hypothesis, NBest
from firth.errors import FirthError

ID, TEXT, REFERENCE, CONTEXT = "id", "hypothesis", "reference", "context"
Rows = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class NBestLists:
    """`id<tab>hypothesis<tab>score`, with more scores if there are any; the lines of an utterance follow each other."""

    columns: tuple[str, ...] = ()  # by default those of the header, which begins with id; else id, hypothesis, scores
    extensions: ClassVar[tuple[str, ...]] = ("nbest",)
    record_type: ClassVar[type] = NBest
    task: ClassVar[str] = "rescoring"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[NBest]:
        """The lists in the order of the file; columns `reference` and `context` are those of the utterance."""
        lines = ((number, line.split("\t")) for number, line in numbered_lines.lines(path) if line)
        first = next(lines, None)
        if first is None:
            raise FirthError("no hypotheses in it", where=path, do="write id<tab>hypothesis<tab>score on each line")
        header = first[1][0].lower() == ID
        columns = self.columns or (tuple(first[1]) if header else _default_columns(len(first[1])))
        _check_columns(columns, numbered_lines.at(path, first[0]))
        units = lines if header else chain([first], lines)
        seen: dict[str, int] = {}
        lists = _group(_checked_rows(units, columns, path, report), columns.index(ID))
        return fault_report.parse_all(lambda rows: _nbest(rows, columns, path, seen), lists, report)

    def rows(self, records: Iterable[NBest]) -> Iterator[str]:
        """The lines of a file with these lists, under a header that the first list decides."""
        columns: tuple[str, ...] = ()
        for record in records:
            if not columns:
                columns = self.columns or _columns_of(record)
                _check_columns(columns, "columns")
                yield "\t".join([require_cell(name) for name in columns])
            if len(record.names) != len(_score_names(columns)):
                what = f"{len(record.names)} scores, but the first list has {len(_score_names(columns))}"
                raise FirthError(what, where=f"list {record.id}", do="give every hypothesis the same scores")
            for hypothesis in record.hypotheses:
                yield _row(record, hypothesis, columns)


def _row(record: NBest, hypothesis: Hypothesis, columns: Sequence[str]) -> str:
    scores = dict(zip(_score_names(columns), map(_number, hypothesis.scores), strict=True))
    known = {ID: record.id, TEXT: hypothesis.text, REFERENCE: record.reference or "", CONTEXT: record.context}
    lost = next((name for name in (REFERENCE, CONTEXT) if known[name] and name not in columns), None)
    if lost:
        what = f"a {lost}, but there is no column for it"
        raise FirthError(what, where=f"list {record.id}", do=f"write it with columns={','.join(columns)},{lost}")
    return "\t".join([require_cell((known | scores)[name]) for name in columns])


def _number(score: float) -> str:
    return str(int(score)) if score.is_integer() and abs(score) < 1e15 else repr(score)


def _columns_of(record: NBest) -> tuple[str, ...]:
    has_reference = record.reference is not None
    given = {REFERENCE: has_reference, CONTEXT: has_reference or bool(record.context)}
    return (ID, TEXT, *record.names, *(name for name, is_there in given.items() if is_there))


def _default_columns(count: int) -> tuple[str, ...]:
    scores = ("score", *(f"score{n}" for n in range(2, count - 1)))
    return (ID, TEXT, *scores)[: max(count, 3)]


def _score_names(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in columns if name not in (ID, TEXT, REFERENCE, CONTEXT))


def _check_columns(columns: Sequence[str], where: str) -> None:
    if columns.count(ID) != 1 or columns.count(TEXT) != 1 or len(set(columns)) != len(columns):
        what = f"columns {', '.join(columns)}: {ID} and {TEXT} are needed, each name once"
        raise FirthError(what, where=where, do="such as columns=id,hypothesis,score")
    if not _score_names(columns):
        raise FirthError("no column with a score", where=where, do="write id<tab>hypothesis<tab>score")


def _checked_rows(
    lines: Iterable[tuple[int, list[str]]], columns: Sequence[str], path: str | Path, report: fault_report.Report | None
) -> Iterator[tuple[int, list[str]]]:
    def check(unit: tuple[int, list[str]]) -> tuple[int, list[str]]:
        number, cells = unit
        where = numbered_lines.at(path, number)
        check_column_count(len(cells), len(columns), where, columns)
        if not cells[columns.index(ID)]:
            raise FirthError("an empty id", where=where, do="give every utterance an id")
        return unit

    return fault_report.parse_all(check, lines, report)


def _group(rows: Iterable[tuple[int, list[str]]], at: int) -> Iterator[Rows]:
    """The rows of each utterance."""
    group: Rows = []
    for row in rows:
        if group and row[1][at] != group[0][1][at]:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _nbest(rows: Rows, columns: Sequence[str], path: str | Path, seen: dict[str, int]) -> NBest:
    (first, cells), names = rows[0], _score_names(columns)
    values = dict(zip(columns, cells, strict=True))
    name = values[ID]
    if name in seen:
        what = f"id {quote(name)} occurs before (line {seen[name]}), with others between"
        raise FirthError(what, where=numbered_lines.at(path, first), do="put the lines of an utterance together")
    seen[name] = first
    hypotheses = tuple([_hypothesis(row, columns, names, values, path) for row in rows])
    return NBest(name, hypotheses, values.get(REFERENCE), values.get(CONTEXT, ""), names, first)


def _hypothesis(
    row: tuple[int, list[str]], columns: Sequence[str], names: Sequence[str], first: dict[str, str], path: str | Path
) -> Hypothesis:
    number, cells = row
    values, where = dict(zip(columns, cells, strict=True)), numbered_lines.at(path, number)
    for name in (REFERENCE, CONTEXT):
        if values.get(name) != first.get(name):
            what = f"another {name} than in the first line of this utterance"
            raise FirthError(what, where=where, do="repeat the same one in all its lines")
    scores = [parse_number(values[name]) for name in names]
    for name, score in zip(names, scores, strict=True):
        if score is None:
            raise FirthError(f"{name} {quote(values[name])} is not a finite number", where=where, do="write a number")
    return Hypothesis(values[TEXT], tuple(score for score in scores if score is not None))
