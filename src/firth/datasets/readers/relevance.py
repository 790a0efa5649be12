"""Collections for information retrieval: documents, queries, and relevance judgements (TREC qrels, BEIR)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import (
    Json,
    check_column_count,
    json_text,
    parse_int,
    parse_json,
    quote,
    require_cell,
)
from firth.datasets.records import Judgement, Passage
from firth.errors import FirthError

BEIR = ("query-id", "corpus-id", "score")


def check_unique_ids(
    passages: Iterable[Passage], path: str | Path, report: fault_report.Report | None = None
) -> Iterator[Passage]:
    """The passages; an error if an id occurs twice."""
    seen: dict[str, int] = {}

    def check(passage: Passage) -> Passage:
        if passage.id in seen:
            what = f"id {quote(passage.id)} occurs twice, first at line {seen[passage.id]}"
            raise FirthError(what, where=numbered_lines.at(path, passage.line), do="give every text its own id")
        seen[passage.id] = passage.line
        return passage

    return fault_report.parse_all(check, passages, report)


@dataclass(frozen=True)
class Passages:
    """One text per line: JSON with an id (`_id` or `id`), a title and a text, or columns id, (title,) text."""

    layout: Literal["auto", "jsonl", "tsv"] = "auto"  # auto: a line that begins with { is JSON; written: JSON

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Passage

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Passage]:
        """The passages in the order of the file."""
        units = ((n, line) for n, line in numbered_lines.lines(path) if line.strip())
        passages = fault_report.parse_all(lambda unit: self._passage(*unit, path), units, report)
        return check_unique_ids(passages, path, report)

    def _passage(self, line: int, text: str, path: str | Path) -> Passage:
        is_json = self.layout == "jsonl" or (self.layout == "auto" and text.startswith("{"))
        if is_json:
            return _from_json(parse_json(text, path, line), line, numbered_lines.at(path, line))
        cells = text.split("\t")
        if len(cells) not in (2, 3) or not cells[0]:
            what = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected id, text or id, title, text"
            raise FirthError(what, where=numbered_lines.at(path, line), do="separate them with tabs")
        return Passage(cells[0], cells[-1], cells[1] if len(cells) == 3 else "", line=line)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these passages."""
        for p in records:
            if self.layout == "tsv":
                yield "\t".join(
                    [require_cell(cell) for cell in ((p.id, p.title, p.text) if p.title else (p.id, p.text))]
                )
            else:
                values = {"_id": p.id, "title": p.title, "text": p.text, **dict(p.fields)}
                yield "{" + ", ".join([f"{_to_json(key)}: {_to_json(value)}" for key, value in values.items()]) + "}"


def _to_json(value: str) -> str:
    return str(value) if isinstance(value, Json) else json.dumps(value, ensure_ascii=False)


def _from_json(value: Any, line: int, where: str) -> Passage:
    if not isinstance(value, dict):
        raise FirthError("not a JSON object", where=where, do='write {"_id": …, "title": …, "text": …}')
    key = "_id" if "_id" in value else "id"
    name, title, text = value.pop(key, None), value.pop("title", "") or "", value.pop("text", None)
    if not isinstance(name, (str, int)) or isinstance(name, bool) or name == "":
        raise FirthError(f"{key} is missing or not an id", where=where, do="give every text its own id")
    if not isinstance(text, str) or not isinstance(title, str):
        raise FirthError("text or title is missing or no text", where=where, do='write {"_id": …, "text": …}')
    return Passage(json_text(name), text, title, tuple((k, json_text(v)) for k, v in value.items()), line)


@dataclass(frozen=True)
class Judgements:
    """Relevance judgements: `query 0 document grade` (TREC qrels), `query document grade` (Cranfield), or the latter
    with a header (BEIR)."""

    grades: Literal["kept", "cranfield"] = "kept"  # cranfield: code 1 (best) … 4 and -1 (the source) become 4 … 1 and 5
    layout: Literal["trec", "plain", "beir"] = "trec"  # when writing; all are read

    extensions: ClassVar[tuple[str, ...]] = ("qrels",)
    record_type: ClassVar[type] = Judgement

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Judgement]:
        """The judgements; a document must be judged once per query."""
        rows = ((n, line.split()) for n, line in numbered_lines.lines(path))
        units = ((n, cells) for n, cells in rows if cells and not (n == 1 and tuple(cells) == BEIR))
        seen: set[tuple[str, str]] = set()
        return fault_report.parse_all(lambda unit: self._judgement(*unit, path, seen), units, report)

    def _judgement(self, line: int, cells: list[str], path: str | Path, seen: set[tuple[str, str]]) -> Judgement:
        where = numbered_lines.at(path, line)
        if len(cells) != 3:
            check_column_count(len(cells), 4, where, ("query", "0", "document", "grade"))
        query, document, grade = cells[0], cells[-2], parse_int(cells[-1])
        if grade is None:
            raise FirthError(f"grade {quote(cells[-1])} is not an integer", where=where, do="write 0, 1, 2 …")
        if (query, document) in seen:
            what = f"query {quote(query)} and document {quote(document)} are judged twice"
            raise FirthError(what, where=where, do="keep one of the two")
        seen.add((query, document))
        iteration = cells[1] if len(cells) == 4 else "0"
        return Judgement(query, document, self._convert_grade(grade, where), line, iteration)

    def _convert_grade(self, grade: int, where: str) -> int:
        if self.grades == "kept":
            return grade
        if grade not in (-1, 1, 2, 3, 4):
            raise FirthError(f"code {grade}, expected 1 to 4 or -1", where=where, do="read it with grades=kept")
        return 5 if grade == -1 else 5 - grade

    def rows(self, records: Iterable[Judgement]) -> Iterator[str]:
        """The lines of a file with these judgements."""
        if self.layout == "beir":
            yield "\t".join(BEIR)
        layout = {"trec": "{0} {3} {1} {2}", "plain": "{0} {1} {2}", "beir": "{0}\t{1}\t{2}"}[self.layout]
        for query, document, grade, _, iteration in records:
            if query.split() != [query] or document.split() != [document]:
                raise FirthError(f"{query!r}, {document!r}: an id with blanks", do="give them ids without blanks")
            code = grade if self.grades == "kept" else -1 if grade == 5 else 5 - grade
            yield layout.format(query, document, code, iteration)


@dataclass(frozen=True)
class Collection:
    """Documents and queries by their ids, and the relevance judgements."""

    documents: dict[str, Passage]
    queries: dict[str, Passage]
    judgements: tuple[Judgement, ...]

    def relevant(self, query: str, min_grade: int = 1) -> dict[str, int]:
        """The documents relevant to a query, with their grades."""
        return {document: grade for document, grade in self._grades.get(query, {}).items() if grade >= min_grade}

    @cached_property
    def _grades(self) -> dict[str, dict[str, int]]:
        grades: dict[str, dict[str, int]] = {}
        for judgement in self.judgements:
            grades.setdefault(judgement.query, {})[judgement.document] = judgement.grade
        return grades


def collect(
    documents: Iterable[Passage],
    queries: Iterable[Passage],
    judgements: Iterable[Judgement],
    path: str | Path = "judgements",
    unknown: Literal["refuse", "drop"] = "refuse",
) -> Collection:
    """The collection of these parts; a judgement (in the file `path`) of an unknown id is an error, or dropped."""
    document_table = {p.id: p for p in check_unique_ids(documents, "documents")}
    query_table = {p.id: p for p in check_unique_ids(queries, "queries")}
    valid = []
    for judgement in judgements:
        missing = (
            "query"
            if judgement.query not in query_table
            else "document"
            if judgement.document not in document_table
            else ""
        )
        if missing and unknown == "refuse":
            what = f"a judgement of {missing} {quote(getattr(judgement, missing))}, which is not there"
            raise FirthError(
                what, where=numbered_lines.at(path, judgement.line), do="give all documents and queries, or drop it"
            )
        if not missing:
            valid.append(judgement)
    return Collection(document_table, query_table, tuple(valid))
