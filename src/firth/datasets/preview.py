"""Previews of records: as text for people and as JSON values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firth.datasets.readers import conllu, trees
from firth.datasets.records import (
    Alignment,
    Analogy,
    Choices,
    Dialogue,
    Image,
    Judgement,
    Labelled,
    NBest,
    Pair,
    Passage,
    Question,
    Record,
    Row,
    Sentence,
    Series,
    Tagged,
    Tree,
    WordSense,
)
from firth.errors import printable

MAX_CHARACTERS = 300  # of a text that is shown


def format_record(record: Record) -> str:
    """A record as text: one line or several, long texts truncated."""
    lines = FORMATTERS.get(type(record), repr)(record).split("\n")
    return "\n".join(map(printable, lines))


def record_to_json(record: Record) -> dict[str, Any]:
    """A record as JSON values, in full; arrays by their shapes."""
    if isinstance(record, Tree):
        return {"line": record.line, "tree": trees.to_text(record)}
    if isinstance(record, Series):
        about = {"name": record.name, "columns": record.columns, "steps": len(record.values)}
        return {**about, "covariates": record.covariate_columns, "anomalous": _count(record.anomalous)}
    values = record._asdict()
    if isinstance(record, Image):
        values["pixels"] = list(record.pixels.shape)
    for name, inner in (("turns", Dialogue), ("hypotheses", NBest)):
        if isinstance(record, inner):
            values[name] = [each._asdict() for each in values[name]]
    return values


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _fields(**fields: str | None) -> str:
    return "\n".join(f"{name:<9} {_short(text)}" for name, text in fields.items() if text)


def _row(row: Row) -> str:
    names = [*row.names, *map(str, range(len(row.names) + 1, len(row.values) + 1))]
    width = max(len(name) for name in names)
    return "\n".join(f"{name:<{width}}  {_short(value)}" for name, value in zip(names, row.values, strict=True))


def _pair(pair: Pair) -> str:
    score = None if pair.score is None else f"{pair.score:g}"
    return _fields(left=pair.left, right=pair.right, label=pair.label, score=score)


def _aligned(columns: list[tuple[str, ...]]) -> str:
    """Words and their tags in aligned columns."""
    widths = [max(len(cell) for cell in column) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _sentence(sentence: Sentence) -> str:
    keep = (conllu.ID, conllu.FORM, conllu.UPOS, conllu.HEAD, conllu.RELATION)
    rows = [tuple(row[column] for column in keep) for row in sentence.rows]
    return f"{_short(conllu.text(sentence))}\n{_aligned(list(zip(*rows, strict=True)))}"


def _question(question: Question) -> str:
    answers = " | ".join(answer.text for answer in question.answers) or "(none)"
    return _fields(id=question.id, context=question.context, question=question.text, answer=answers)


def _choices(record: Choices) -> str:
    marks = ["*" if n == record.answer else "" for n in range(len(record.choices))]
    shown = "\n".join(f"{'choice' + mark:<9} {_short(text)}" for mark, text in zip(marks, record.choices, strict=True))
    return "\n".join(filter(None, [_fields(context=record.context, question=record.question), shown]))


def _sense(record: WordSense) -> str:
    words = [f"[{word}]" if n == record.position else word for n, word in enumerate(record.words)]
    return _fields(word=record.word, sense=record.sense, means=record.definition, text=" ".join(words))


def _nbest(record: NBest) -> str:
    fields = _fields(id=record.id, context=record.context, reference=record.reference)
    rows = [(*(f"{score:.2f}" for score in each.scores), _short(each.text)) for each in record.hypotheses]
    return f"{fields}\n{_aligned(list(zip(*rows, strict=True)))}"


def _series(series: Series) -> str:
    about = f"{len(series.values):,} steps from {series.time[0]} to {series.time[-1]}"
    anomalies = _count(series.anomalous)
    return _fields(
        name=series.name,
        time=about,
        values=", ".join(series.columns),
        covariate=", ".join(series.covariate_columns),
        anomalous=None if anomalies is None else f"{anomalies:,} steps",
    )


def _count(labels: Any) -> int | None:
    return None if labels is None else int(labels.sum())


def _image(image: Image) -> str:
    size = " x ".join(map(str, image.pixels.shape))
    captions = "\n".join(f"{'caption':<9} {_short(caption)}" for caption in image.captions)
    return "\n".join(filter(None, [_fields(image=f"{image.name} {size}".strip(), label=image.label), captions]))


FORMATTERS: dict[type, Callable[..., str]] = {
    Row: _row,
    Labelled: lambda record: _fields(label=", ".join(record.labels), text=record.text) or "(empty)",
    Pair: _pair,
    Alignment: lambda record: " ".join(f"{left}-{right}" for left, right in record.links) or "(none)",
    Tagged: lambda record: _aligned([record.words, *record.layers]),
    Sentence: _sentence,
    Tree: lambda record: _short(trees.to_text(record)),
    Question: _question,
    Choices: _choices,
    Dialogue: lambda record: "\n".join(f"{turn.role:<9} {_short(turn.text)}" for turn in record.turns),
    WordSense: _sense,
    NBest: _nbest,
    Analogy: lambda record: f"{record.section}: {' '.join(record.words)}",
    Passage: lambda record: _fields(id=record.id, title=record.title, text=record.text),
    Judgement: lambda record: f"query {record.query}  document {record.document}  grade {record.grade}",
    Series: _series,
    Image: _image,
}
