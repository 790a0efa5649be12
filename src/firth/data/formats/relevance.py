"""Collections for retrieval: documents, queries, and judgements of which document is relevant to which query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import Json, json_text, line_safe, parse_json, same_count, shown, whole
from firth.data.records import Judgement, Passage
from firth.errors import FirthError

BEIR = ("query-id", "corpus-id", "score")


def once(passages: Iterable[Passage], path: str | Path, report: going.Report | None = None) -> Iterator[Passage]:
    """The passages, if no id comes twice."""
    seen: dict[str, int] = {}

    def check(passage: Passage) -> Passage:
        if passage.id in seen:
            what = f"id {shown(passage.id)} comes twice, first at line {seen[passage.id]}"
            raise FirthError(what, where=lines.at(path, passage.line), do="give every text its own id")
        seen[passage.id] = passage.line
        return passage

    return going.parsed(check, passages, report)


@dataclass(frozen=True)
class Passages:
    """A text a line: JSON with an id (`_id` or `id`), a title and a text, or columns id, text (or id, title, text)."""

    layout: Literal["auto", "jsonl", "tsv"] = "auto"  # auto: a line that begins with { is JSON; written: JSON

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Passage

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Passage]:
        """The texts in the order of the file."""
        units = ((n, line) for n, line in lines.lines(path) if line.strip())
        found = going.parsed(lambda unit: self._passage(*unit, path), units, report)
        return once(found, path, report)

    def _passage(self, line: int, text: str, path: str | Path) -> Passage:
        is_json = self.layout == "jsonl" or (self.layout == "auto" and text.startswith("{"))
        if is_json:
            return _from_json(parse_json(text, path, line), line, lines.at(path, line))
        found = text.split("\t")
        if len(found) not in (2, 3) or not found[0]:
            what = f"{len(found)} column{'s' * (len(found) != 1)}, expected id, text or id, title, text"
            raise FirthError(what, where=lines.at(path, line), do="separate them with tabs")
        return Passage(found[0], found[-1], found[1] if len(found) == 3 else "", line=line)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these texts."""
        for p in records:
            if self.layout == "tsv":
                yield "\t".join([line_safe(cell) for cell in ((p.id, p.title, p.text) if p.title else (p.id, p.text))])
            else:
                told = {"_id": p.id, "title": p.title, "text": p.text, **dict(p.fields)}
                yield "{" + ", ".join([f"{_dumped(key)}: {_dumped(value)}" for key, value in told.items()]) + "}"


def _dumped(value: str) -> str:
    return str(value) if isinstance(value, Json) else json.dumps(value, ensure_ascii=False)


def _from_json(value: Any, line: int, where: str) -> Passage:
    if not isinstance(value, dict):
        raise FirthError("not a JSON object", where=where, do='write {"_id": …, "title": …, "text": …}')
    key = "_id" if "_id" in value else "id"
    name, title, text = value.pop(key, None), value.pop("title", "") or "", value.pop("text", None)
    if not isinstance(name, (str, int)) or isinstance(name, bool) or name == "":
        raise FirthError(f"{key} is missing or no id", where=where, do="give every text its own id")
    if not isinstance(text, str) or not isinstance(title, str):
        raise FirthError("text or title is missing or no text", where=where, do='write {"_id": …, "text": …}')
    return Passage(json_text(name), text, title, tuple((k, json_text(v)) for k, v in value.items()), line)


@dataclass(frozen=True)
class Judgements:
    """`query 0 document grade` (TREC), `query document grade` (Cranfield), or the latter in columns with a header."""

    grades: Literal["kept", "cranfield"] = "kept"  # cranfield: code 1 (best) … 4 and -1 (the source) become 4 … 1 and 5
    layout: Literal["trec", "plain", "beir"] = "trec"  # of what is written; all are read

    endings: ClassVar[tuple[str, ...]] = ("qrels",)
    holds: ClassVar[type] = Judgement

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Judgement]:
        """The judgements; a document is judged once for a query."""
        rows = ((n, line.split()) for n, line in lines.lines(path))
        units = ((n, found) for n, found in rows if found and not (n == 1 and tuple(found) == BEIR))
        seen: set[tuple[str, str]] = set()
        return going.parsed(lambda unit: self._judgement(*unit, path, seen), units, report)

    def _judgement(self, line: int, found: list[str], path: str | Path, seen: set[tuple[str, str]]) -> Judgement:
        where = lines.at(path, line)
        if len(found) != 3:
            same_count(len(found), 4, where, ("query", "0", "document", "grade"))
        query, document, grade = found[0], found[-2], whole(found[-1])
        if grade is None:
            raise FirthError(f"grade {shown(found[-1])} is no whole number", where=where, do="write 0, 1, 2 …")
        if (query, document) in seen:
            what = f"query {shown(query)} and document {shown(document)} are judged twice"
            raise FirthError(what, where=where, do="keep one of the two")
        seen.add((query, document))
        between = found[1] if len(found) == 4 else "0"
        return Judgement(query, document, self._turned(grade, where), line, between)

    def _turned(self, grade: int, where: str) -> int:
        if self.grades == "kept":
            return grade
        if grade not in (-1, 1, 2, 3, 4):
            raise FirthError(f"code {grade}, expected 1 to 4 or -1", where=where, do="read it with grades=kept")
        return 5 if grade == -1 else 5 - grade

    def rows(self, records: Iterable[Judgement]) -> Iterator[str]:
        """The lines of a file with these judgements."""
        if self.layout == "beir":
            yield "\t".join(BEIR)
        form = {"trec": "{0} {3} {1} {2}", "plain": "{0} {1} {2}", "beir": "{0}\t{1}\t{2}"}[self.layout]
        for query, document, grade, _, between in records:
            if query.split() != [query] or document.split() != [document]:
                raise FirthError(f"{query!r}, {document!r}: an id with blanks", do="give them ids without blanks")
            code = grade if self.grades == "kept" else -1 if grade == 5 else 5 - grade
            yield form.format(query, document, code, between)


@dataclass(frozen=True)
class Collection:
    """Documents and queries by their ids, and what was judged of them."""

    documents: dict[str, Passage]
    queries: dict[str, Passage]
    judgements: tuple[Judgement, ...]

    def relevant(self, query: str, least: int = 1) -> dict[str, int]:
        """The documents relevant to a query, with their grades."""
        return {document: grade for document, grade in self._grades.get(query, {}).items() if grade >= least}

    @cached_property
    def _grades(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for judged in self.judgements:
            found.setdefault(judged.query, {})[judged.document] = judged.grade
        return found


def collect(
    documents: Iterable[Passage],
    queries: Iterable[Passage],
    judgements: Iterable[Judgement],
    path: str | Path = "judgements",
    unknown: Literal["refuse", "drop"] = "refuse",
) -> Collection:
    """The collection of these parts; a judgement (of the file `path`) of an id that is not there is an error."""
    known = {p.id: p for p in once(documents, "documents")}
    asked = {p.id: p for p in once(queries, "queries")}
    kept = []
    for judged in judgements:
        wrong = "query" if judged.query not in asked else "document" if judged.document not in known else ""
        if wrong and unknown == "refuse":
            what = f"a judgement of {wrong} {shown(getattr(judged, wrong))}, which is not there"
            raise FirthError(what, where=lines.at(path, judged.line), do="give all documents and queries, or drop it")
        if not wrong:
            kept.append(judged)
    return Collection(known, asked, tuple(kept))
