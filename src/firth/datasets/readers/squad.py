"""Extractive question answering in the JSON of SQuAD 1.1 and 2.0."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import parse_int, parse_json, quote
from firth.datasets.records import Answer, Question
from firth.errors import FirthError

ID = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.)*+"|-?[0-9]+)')
NAMES = {str: "text", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Squad:
    """Articles, their paragraphs and the questions about them; offsets count characters."""

    version: Literal["1.1", "2.0"] = "2.0"  # when writing; both are read
    offsets: Literal["check", "repair", "keep"] = "check"  # repair: the nearest occurrence of the answer
    escapes: Literal["none", "ascii"] = "none"  # ascii: other characters are written as \\u escapes

    extensions: ClassVar[tuple[str, ...]] = ("json",)
    record_type: ClassVar[type] = Question

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Question]:
        """The questions in the order of the file."""
        text = numbered_lines.read_whole(path)
        top, locator = _parse(text, path), _Locator(text, str(path))
        seen: dict[str, int] = {}
        return fault_report.parse_all(lambda unit: self._question(*unit, locator, seen), _entries(top, locator), report)

    def _question(self, entry: Any, path: str, article: Article, locator: _Locator, seen: dict[str, int]) -> Question:
        name = _typed(entry, dict, path, locator).get("id")
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise locator.error(f"{path}: id is {'missing' if name is None else 'neither text nor number'}")
        locator.advance_to(str(name))
        _check_unique(str(name), seen, locator)
        text = _part(entry, "question", str, path, locator)
        answers = _answers(entry, "answers", path, locator)
        if answers and entry.get("is_impossible") is True:
            raise locator.error(f"{path}: is_impossible, but it has answers", "empty answers, or set it to false")
        plausible = _answers(entry, "plausible_answers", path, locator)
        question = Question(str(name), article.context, text, answers, plausible, article.title, locator.line)
        return self._with_checked_offsets(question, locator)

    def _with_checked_offsets(self, question: Question, locator: _Locator) -> Question:
        """The question with its answer offsets checked or repaired, as configured."""
        if self.offsets == "keep":
            return question
        context = question.context
        answers = tuple(self._check_offset(answer, context, locator) for answer in question.answers)
        return question._replace(
            answers=answers,
            plausible=tuple(self._check_offset(answer, context, locator) for answer in question.plausible),
        )

    def _check_offset(self, answer: Answer, context: str, locator: _Locator) -> Answer:
        if answer.start >= 0 and context.startswith(answer.text, answer.start):
            return answer
        nearest = _nearest(context, answer) if self.offsets == "repair" else None
        if nearest is not None:
            return answer._replace(start=nearest)
        actual = context[max(answer.start, 0) :][: len(answer.text)]
        what = f"answer {quote(answer.text)} is not at character {answer.start} of its context (there: {quote(actual)})"
        do = "correct it, or read with offsets=repair" if answer.text in context else "read it with offsets=keep"
        raise locator.error(what, do)

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


def _parse(text: str, path: str | Path) -> Any:
    """The JSON of the file; an error that suggests the format if it is another kind of JSON."""
    try:
        value = parse_json(text, path)
    except FirthError as error:
        if "Extra data" in error.what:
            what, do = "more than one JSON value", "if it has one object per line, read it with --format jsonl"
            raise FirthError(what, where=error.where, do=do) from None
        raise
    if isinstance(value, dict) and "data" not in value:
        do = "write it in SQuAD's layout, or read one object per line with --format jsonl"
        raise FirthError("data is missing", where=numbered_lines.at(path, 1), do=do)
    return value


class _Locator:
    """The line of the question that was read last, for errors."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._ids = ID.finditer(text) if "\n" in text.strip() else None  # most files are one line
        self._at, self.line = 0, 1

    def advance_to(self, name: str) -> None:
        """Advance to the line with this id; ids come in the order of the file."""
        for match in self._ids or ():
            self.line += self._text.count("\n", self._at, match.start())
            self._at = match.start()
            if str(json.loads(match[1], strict=False)) == name:
                return

    def error(self, what: str, do: str = "correct the file") -> FirthError:
        """An error at the last question."""
        return FirthError(what, where=numbered_lines.at(self._path, self.line), do=do)


class Article(NamedTuple):
    """The title and context that a paragraph's questions share."""

    title: str
    context: str


def _entries(top: Any, locator: _Locator) -> Iterator[tuple[Any, str, Article]]:
    """The JSON of each question, its path in the file, and its title and context."""
    for a, article in enumerate(_part(_typed(top, dict, "the file", locator), "data", list, "", locator)):
        path = f"data[{a}]"
        title = _typed(_typed(article, dict, path, locator).get("title", ""), str, f"{path}.title", locator)
        for p, paragraph in enumerate(_part(article, "paragraphs", list, path, locator)):
            paragraph_path = f"{path}.paragraphs[{p}]"
            shared = Article(title, _part(paragraph, "context", str, paragraph_path, locator))
            for q, entry in enumerate(_part(paragraph, "qas", list, paragraph_path, locator)):
                yield entry, f"{paragraph_path}.qas[{q}]", shared


def _typed(value: Any, kind: type, here: str, locator: _Locator) -> Any:
    if not isinstance(value, kind):
        raise locator.error(f"{here} is not {NAMES[kind]}")
    return value


def _part(value: Any, key: str, kind: type, here: str, locator: _Locator) -> Any:
    """The value of a key that must be there."""
    inside = f"{here}.{key}" if here else key
    if key not in _typed(value, dict, here, locator):
        raise locator.error(f"{inside} is missing")
    return _typed(value[key], kind, inside, locator)


def _answers(entry: dict, key: str, here: str, locator: _Locator) -> tuple[Answer, ...]:
    answers = []
    for i, answer in enumerate(_part(entry, key, list, here, locator) if key in entry else ()):
        inside = f"{here}.{key}[{i}]"
        text = _part(answer, "text", str, inside, locator)
        start = answer.get("answer_start")
        start = parse_int(start) if isinstance(start, str) else start  # some files quote it
        if not isinstance(start, int) or isinstance(start, bool) or not text:
            wrong = "answer_start is not an integer" if text else "text is empty"
            raise locator.error(f"{inside}: {wrong}")
        answers.append(Answer(text, start))
    return tuple(answers)


def _check_unique(name: str, seen: dict[str, int], locator: _Locator) -> None:
    if name in seen:
        before = f", first at line {seen[name]}" if locator.line > 1 else ""
        raise locator.error(f"question id {quote(name)} occurs twice{before}", "give every question its own id")
    seen[name] = locator.line


def _nearest(context: str, answer: Answer) -> int | None:
    """The occurrence of the answer nearest to its offset."""
    start = min(max(answer.start, 0), len(context))
    after = context.find(answer.text, start)
    before = context.rfind(answer.text, 0, start + len(answer.text))
    occurrences = [offset for offset in (before, after) if offset >= 0]
    return min(occurrences, key=lambda offset: abs(offset - start), default=None)


def _entry_1(question: Question) -> dict[str, Any]:
    if not question.answers:
        what = f"question {quote(question.id)} has no answer, which SQuAD 1.1 does not allow"
        raise FirthError(what, do="write it with version=2.0")
    answers = [{"answer_start": answer.start, "text": answer.text} for answer in question.answers]
    return {"answers": answers, "question": question.text, "id": question.id}


def _entry_2(question: Question) -> dict[str, Any]:
    lists = [[{"text": a.text, "answer_start": a.start} for a in some] for some in question[3:5]]
    plausible = {"plausible_answers": lists[1]} if lists[1] else {}
    rest = {"question": question.text, "id": question.id, "answers": lists[0], "is_impossible": not lists[0]}
    return {**plausible, **rest}
