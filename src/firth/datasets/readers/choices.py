"""Multiple-choice questions as JSON lines, in the layouts of the public sets (RACE, HellaSwag, ARC, CommonsenseQA), and
in the rows of tables (SWAG)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from firth.datasets.readers import fault_report
from firth.datasets.readers.json_objects import JsonObject, read_objects
from firth.datasets.readers.values import Json, parse_int, quote
from firth.datasets.records import Choices, Row
from firth.errors import FirthError

# Usual names of the parts: the first of these that an object or a table has is used.
CONTEXT = ("context", "article", "passage", "ctx", "premise", "sent1", "startphrase")
QUESTION = ("question", "query", "sent2", "goal")
CHOICES = ("choices", "options", "endings")
ANSWER = ("answer", "answerKey", "label", "gold", "correct")
ID = ("id", "example_id", "ind")
NUMBERED = re.compile(r"(choice|option|ending|answer|sol)[_ ]?(\d+|[A-H])", re.IGNORECASE)  # ending0, answerA
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class MultipleChoice:
    """One object per line: `{"context": …, "question": …, "choices": […], "answer": 0}`."""

    count_from: int = 0  # the number of the first choice, where answers are numbers

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Choices
    task: ClassVar[str] = "multiple-choice"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Choices]:
        """The questions; a line of RACE has several."""
        return chain.from_iterable(read_objects(path, lambda entry: list(self._questions(entry)), report))

    def _questions(self, entry: JsonObject) -> Iterator[Choices]:
        try:
            for values in _expand(entry):
                yield question_from(values, self.count_from, entry.line)
        except FirthError as error:
            raise error if error.where else entry.error(error.what, error.do) from None

    def rows(self, records: Iterable[Choices]) -> Iterator[str]:
        """The lines of a file with these questions."""
        for record in records:
            answer = None if record.answer is None else record.answer + self.count_from
            values = {"context": record.context, "question": record.question, "choices": record.choices}
            values |= {"answer": answer} if answer is not None else {}
            yield json.dumps(({"id": record.id} if record.id else {}) | values, ensure_ascii=False)


def question_from_row(row: Row) -> Choices:
    """The question of a row of a table with a header: columns such as sent1, sent2, ending0 … ending3, label."""
    values = zip(row.names, row.values, strict=False)
    return question_from(
        {name: json.loads(value) if isinstance(value, Json) else value for name, value in values}, 0, row.line
    )


def has_choices(names: Iterable[str]) -> bool:
    """Whether columns of these names hold choices."""
    return any(name in CHOICES or NUMBERED.fullmatch(name) or name == "question" for name in names)


def question_from(values: Mapping[str, Any], count_from: int = 0, line: int = 0) -> Choices:
    """The question of named values; an error without file and line if they make none."""
    values = _with_stem(values)
    texts, labels = _choices(values)
    if len(texts) < 2:
        raise FirthError(f"{len(texts)} choices", do="give two or more")
    blank = next((n for n, text in enumerate(texts) if not text.strip()), None)
    if blank is not None:
        raise FirthError(f"choice {count_from + blank} is empty", do="fill it in")
    answer = _answer(_first(values, ANSWER), texts, labels, count_from)
    name = _first(values, ID)
    return Choices(_text(values, CONTEXT), _text(values, QUESTION), texts, answer, str(name or ""), line)


def _expand(entry: JsonObject) -> Iterator[Mapping[str, Any]]:
    """The values of each question of a line: RACE has lists of questions, their options and answers."""
    if "questions" not in entry.values:
        yield entry.values
        return
    questions, options = entry.texts("questions"), entry.get("options", list)
    answers = entry.texts("answers") if "answers" in entry.values else (None,) * len(questions)
    if not len(questions) == len(options) == len(answers):
        what = f"{len(questions)} questions, {len(options)} lists of options and {len(answers)} answers"
        raise entry.error(what, "give as many of each")
    name = entry.values.get("id", "")
    for n, (question, choices, answer) in enumerate(zip(questions, options, answers, strict=True)):
        numbered = {"id": f"{name}-{n}" if name else "", "question": question, "choices": choices, "answer": answer}
        yield {"context": entry.get("article", str), **numbered}


def _with_stem(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values, those within the question (ARC: its stem and its choices) among them."""
    question = values.get("question")
    if not isinstance(question, dict):
        return values
    return {**values, **question, "question": question.get("stem", "")}


def _first(values: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _text(values: Mapping[str, Any], names: Sequence[str]) -> str:
    value = _first(values, names)
    if value is not None and not isinstance(value, str):
        raise FirthError(f"{names[0]} is not text", do="correct the line")
    return value or ""


def _choices(values: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the choices, and their labels if they have any."""
    given = _first(values, CHOICES)
    if isinstance(given, dict):  # {"label": ["A", …], "text": [...]}
        texts, labels = given.get("text"), given.get("label")
    elif isinstance(given, list) and all(isinstance(each, dict) for each in given):
        texts, labels = [each.get("text") for each in given], [each.get("label") for each in given]
    else:
        numbered = [text for name, text in values.items() if NUMBERED.fullmatch(name)]
        texts, labels = numbered if given is None else given, None
    if given is None and not texts:
        raise FirthError("no choices", do='write "choices": […], or columns choice0, choice1, … or ending0, ending1, …')
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise FirthError("choices are not a list of texts", do="correct the line")
    labels = labels if isinstance(labels, list) and len(labels) == len(texts) else ()
    return tuple(texts), tuple(map(str, labels))


def _answer(value: Any, texts: tuple[str, ...], labels: tuple[str, ...], count_from: int) -> int | None:
    """The position of the answer, given as a label, a number, a letter or the text of a choice."""
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise FirthError(f"answer {quote(value)} is neither a number nor text", do="give the number of the choice")
    if text in labels:
        return labels.index(text)
    number = parse_int(text)
    if number is None and len(text) == 1 and text in LETTERS:
        number = LETTERS.index(text) + count_from
    if number is None and text in texts:
        return texts.index(text)
    if number is not None and 0 <= number - count_from < len(texts):
        return number - count_from
    last = count_from + len(texts) - 1
    what = f"answer {quote(text)} is none of the choices, which are {count_from} to {last}"
    raise FirthError(what, do=f"correct it, or set count_from={1 - min(count_from, 1)}")
