"""Questions about texts in the JSON of SQuAD 1.1 and 2.0."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import parse_json, shown, whole
from firth.data.records import Answer, Question
from firth.errors import FirthError

ID = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.)*+"|-?[0-9]+)')
NAMES = {str: "text", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Squad:
    """Articles, their paragraphs and the questions about them; offsets count characters."""

    version: Literal["1.1", "2.0"] = "2.0"  # of what is written; both are read
    offsets: Literal["check", "repair", "keep"] = "check"  # repair: take the nearest place that has the answer
    escapes: Literal["none", "ascii"] = "none"  # how other letters are written

    endings: ClassVar[tuple[str, ...]] = ("json",)
    holds: ClassVar[type] = Question

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Question]:
        """The questions in the order of the file."""
        text = lines.whole(path)
        top, places = _parsed(text, path), _Places(text, str(path))
        seen: dict[str, int] = {}
        return going.parsed(lambda unit: self._question(*unit, places, seen), _entries(top, places), report)

    def _question(self, entry: Any, here: str, article: Article, places: _Places, seen: dict[str, int]) -> Question:
        name = _typed(entry, dict, here, places).get("id")
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise places.error(f"{here}: id is {'missing' if name is None else 'neither text nor number'}")
        places.go_to(str(name))
        _once(str(name), seen, places)
        text = _part(entry, "question", str, here, places)
        answers = _answers(entry, "answers", here, places)
        if answers and entry.get("is_impossible") is True:
            raise places.error(f"{here}: is_impossible, but it has answers", "empty answers, or set it to false")
        plausible = _answers(entry, "plausible_answers", here, places)
        found = Question(str(name), article.context, text, answers, plausible, article.title, places.line)
        return self._placed(found, places)

    def _placed(self, question: Question, places: _Places) -> Question:
        """The question with every answer where it says it is, or as the option has it."""
        if self.offsets == "keep":
            return question
        context = question.context
        answers = tuple(self._place(answer, context, places) for answer in question.answers)
        return question._replace(
            answers=answers, plausible=tuple(self._place(answer, context, places) for answer in question.plausible)
        )

    def _place(self, answer: Answer, context: str, places: _Places) -> Answer:
        if answer.start >= 0 and context.startswith(answer.text, answer.start):
            return answer
        nearest = _nearest(context, answer) if self.offsets == "repair" else None
        if nearest is not None:
            return answer._replace(start=nearest)
        there = context[max(answer.start, 0) :][: len(answer.text)]
        what = f"answer {shown(answer.text)} is not at character {answer.start} of its context (there: {shown(there)})"
        do = "mend it, or read with offsets=repair" if answer.text in context else "it is nowhere in it: offsets=keep"
        raise places.error(what, do)

    def rows(self, records: Iterable[Question]) -> Iterator[str]:
        """The file: one line of JSON, keys in the order of the public files."""
        build = {"1.1": _entry_1, "2.0": _entry_2}[self.version]
        articles = []
        for title, questions in groupby(records, key=lambda question: question.title):
            paragraphs = []
            for context, inside in groupby(questions, key=lambda question: question.context):
                qas = [build(question) for question in inside]
                pair = {"context": context, "qas": qas} if self.version == "1.1" else {"qas": qas, "context": context}
                paragraphs.append(pair)
            articles.append({"title": title, "paragraphs": paragraphs})
        old = self.version == "1.1"
        top = {"data": articles, "version": "1.1"} if old else {"version": "v2.0", "data": articles}
        yield json.dumps(top, ensure_ascii=self.escapes == "ascii")


def _parsed(text: str, path: str | Path) -> Any:
    """The JSON of the file; what looks like another kind of JSON is told."""
    try:
        found = parse_json(text, path)
    except FirthError as error:
        if "Extra data" in error.what:
            what, do = "more than one JSON value", "if it has an object a line, read it with --format jsonl"
            raise FirthError(what, where=error.where, do=do) from None
        raise
    if isinstance(found, dict) and "data" not in found:
        do = "write it as SQuAD has it, or read objects a line with --format jsonl"
        raise FirthError("data is missing", where=lines.at(path, 1), do=do)
    return found


class _Places:
    """Where in the file the reader is: the line of the question it came to last."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._ids = ID.finditer(text) if "\n" in text.strip() else None  # most files are one line
        self._at, self.line = 0, 1

    def go_to(self, name: str) -> None:
        """Move on to the line that has this id; ids come in the order of the file."""
        for match in self._ids or ():
            self.line += self._text.count("\n", self._at, match.start())
            self._at = match.start()
            if str(json.loads(match[1], strict=False)) == name:
                return

    def error(self, what: str, do: str = "mend the file") -> FirthError:
        """An error at the last question."""
        return FirthError(what, where=lines.at(self._path, self.line), do=do)


class Article(NamedTuple):
    """What a paragraph's questions share."""

    title: str
    context: str


def _entries(top: Any, places: _Places) -> Iterator[tuple[Any, str, Article]]:
    """What stands for a question, its path in the file, and what it is about."""
    for a, article in enumerate(_part(_typed(top, dict, "the file", places), "data", list, "", places)):
        here = f"data[{a}]"
        title = _typed(_typed(article, dict, here, places).get("title", ""), str, f"{here}.title", places)
        for p, paragraph in enumerate(_part(article, "paragraphs", list, here, places)):
            there = f"{here}.paragraphs[{p}]"
            about = Article(title, _part(paragraph, "context", str, there, places))
            for q, entry in enumerate(_part(paragraph, "qas", list, there, places)):
                yield entry, f"{there}.qas[{q}]", about


def _typed(value: Any, kind: type, here: str, places: _Places) -> Any:
    if not isinstance(value, kind):
        raise places.error(f"{here} is not {NAMES[kind]}")
    return value


def _part(value: Any, key: str, kind: type, here: str, places: _Places) -> Any:
    """The value of a key that must be there."""
    inside = f"{here}.{key}" if here else key
    if key not in _typed(value, dict, here, places):
        raise places.error(f"{inside} is missing")
    return _typed(value[key], kind, inside, places)


def _answers(entry: dict, key: str, here: str, places: _Places) -> tuple[Answer, ...]:
    found = []
    for i, answer in enumerate(_part(entry, key, list, here, places) if key in entry else ()):
        inside = f"{here}.{key}[{i}]"
        text = _part(answer, "text", str, inside, places)
        start = answer.get("answer_start")
        start = whole(start) if isinstance(start, str) else start  # some files quote it
        if not isinstance(start, int) or isinstance(start, bool) or not text:
            wrong = "answer_start is no whole number" if text else "text is empty"
            raise places.error(f"{inside}: {wrong}")
        found.append(Answer(text, start))
    return tuple(found)


def _once(name: str, seen: dict[str, int], places: _Places) -> None:
    if name in seen:
        before = f", first at line {seen[name]}" if places.line > 1 else ""
        raise places.error(f"question id {shown(name)} comes twice{before}", "give every question its own id")
    seen[name] = places.line


def _nearest(context: str, answer: Answer) -> int | None:
    """The place of the answer nearest to where it should be."""
    start = min(max(answer.start, 0), len(context))
    after = context.find(answer.text, start)
    before = context.rfind(answer.text, 0, start + len(answer.text))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start), default=None)


def _entry_1(question: Question) -> dict[str, Any]:
    if not question.answers:
        what = f"question {shown(question.id)} has no answer, which SQuAD 1.1 cannot say"
        raise FirthError(what, do="write it with version=2.0")
    answers = [{"answer_start": answer.start, "text": answer.text} for answer in question.answers]
    return {"answers": answers, "question": question.text, "id": question.id}


def _entry_2(question: Question) -> dict[str, Any]:
    lists = [[{"text": a.text, "answer_start": a.start} for a in some] for some in question[3:5]]
    plausible = {"plausible_answers": lists[1]} if lists[1] else {}
    rest = {"question": question.text, "id": question.id, "answers": lists[0], "is_impossible": not lists[0]}
    return {**plausible, **rest}
