"""Batch prediction: every text, sentence or question of a file through a model, written as they come."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from firth.arguments import as_path
from firth.datasets import numbered_lines, readers
from firth.datasets.readers.tables import Table
from firth.datasets.records import Record
from firth.errors import FirthError, unknown

INPUTS_PER_BATCH = 1024  # a model divides them further, by its budget of tokens
TSV, JSONL, CONLL = "tsv", "jsonl", "conll"
Rows = Callable[[Any, Mapping[str, Any]], Iterator[str]]  # the lines of an answer


@dataclass(frozen=True)
class Source:
    """A file of inputs, its format ("": guessed) and the columns of tables that are read: text=review, left=2, …"""

    path: str
    format: str = ""
    columns: Mapping[str, str] | None = None


def predict_file(model: Any, source: Source, options: Mapping[str, object], form: str = TSV) -> Iterator[str]:
    """The lines of the predictions for every record of a file, in its order; an input that cannot be read is an error
    with its file and line."""
    write = _writer(model, form)
    columns = source.columns or {}
    header = form == TSV
    for records in _batches(_read(source)):
        for answer in _answers(model, records, columns, options, source.path):
            if header:
                yield "\t".join(model.table_rows(answer)[0])
                header = False
            yield from write(model, answer)


def save_predictions(model: Any, source: Source, options: Mapping[str, object], form: str, out: str | Path) -> Path:
    """The same in a file, which appears only when complete; compressed if its name ends in .gz or .xz."""
    path = as_path(out)
    numbered_lines.save_lines(path, predict_file(model, source, options, form))
    return path


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    stream = iter(records)
    while batch := list(islice(stream, INPUTS_PER_BATCH)):
        yield batch


def _read(source: Source) -> Iterator[Record]:
    """The records of the file."""
    form = readers.get_format(source.format) if source.format else readers.guess(source.path)
    named = [name for name in (source.columns or {}).values() if not name.isdigit()]
    if named and isinstance(form, Table):
        form = replace(form, header="yes")
    return form.read(source.path)


def _answers(
    model: Any, records: Sequence[Record], columns: Mapping[str, str], options: Mapping[str, object], path: str
) -> Iterator[Mapping[str, Any]]:
    """The answers to all records at once; where that fails one by one, so that the error names its line."""
    try:
        answers = model.answer_inputs([model.read_input(record, columns) for record in records], options)
    except FirthError:
        for record in records:
            try:
                yield from model.answer_inputs([model.read_input(record, columns)], options)
            except FirthError as error:
                where = error.where or numbered_lines.at(path, getattr(record, "line", 0))
                raise type(error)(error.what, where=where, do=error.do) from None
        return
    yield from answers


# --- forms of output ----------------------------------------------------------------------------------------------


def _writer(model: Any, form: str) -> Rows:
    forms = {TSV: _tsv, JSONL: _jsonl} | ({CONLL: _conll} if hasattr(model, "column_rows") else {})
    if form not in forms:
        raise unknown("form", form, forms, where="--to")
    if not hasattr(model, "answer_inputs"):
        do = "give a classifier, a tagger, or a model that answers questions; others take single lines"
        raise FirthError("this model takes no files", where="--text", do=do)
    return forms[form]


def _tsv(model: Any, answer: Mapping[str, Any]) -> Iterator[str]:
    for row in model.table_rows(answer):
        yield "\t".join(map(_cell, row.values()))


def _jsonl(model: Any, answer: Mapping[str, Any]) -> Iterator[str]:
    yield json.dumps(answer, ensure_ascii=False, allow_nan=False)


def _conll(model: Any, answer: Mapping[str, Any]) -> Iterator[str]:
    for row in model.column_rows(answer):
        yield "\t".join(map(_cell, row))
    yield ""


def _cell(value: object) -> str:
    """A value in one cell: white space in a text is one blank."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return " ".join(str(value).split())
