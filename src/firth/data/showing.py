"""Records as text for people and as values for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firth.data.formats import conllu, trees
from firth.data.records import (
    Alignment,
    Analogy,
    Image,
    Judgement,
    Labelled,
    Pair,
    Passage,
    Question,
    Record,
    Row,
    Sentence,
    Series,
    Tagged,
    Tree,
)

LONG = 300  # characters of a text that are shown


def shown(record: Record) -> str:
    """A record for people: one line or several, texts cut short."""
    return SHOW.get(type(record), repr)(record)


def values(record: Record) -> dict[str, Any]:
    """A record as JSON values, in full; arrays by their shapes."""
    if isinstance(record, Tree):
        return {"line": record.line, "tree": trees.to_text(record)}
    if isinstance(record, Series):
        about = {"name": record.name, "columns": record.columns, "steps": len(record.values)}
        return {**about, "covariates": record.covariate_columns, "anomalous": _count(record.anomalous)}
    found = record._asdict()
    if isinstance(record, Image):
        found["pixels"] = list(record.pixels.shape)
    return found


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _fields(**given: str | None) -> str:
    return "\n".join(f"{name:<9} {_short(text)}" for name, text in given.items() if text)


def _row(row: Row) -> str:
    names = [*row.names, *map(str, range(len(row.names) + 1, len(row.values) + 1))]
    wide = max(len(name) for name in names)
    return "\n".join(f"{name:<{wide}}  {_short(value)}" for name, value in zip(names, row.values, strict=True))


def _pair(pair: Pair) -> str:
    score = None if pair.score is None else f"{pair.score:g}"
    return _fields(left=pair.left, right=pair.right, label=pair.label, score=score)


def _aligned(columns: list[tuple[str, ...]]) -> str:
    """Words with their tags below each other."""
    wide = [max(len(cell) for cell in column) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(f"{cell:<{size}}" for cell, size in zip(row, wide, strict=True)).rstrip() for row in rows
    )


def _sentence(sentence: Sentence) -> str:
    keep = (conllu.ID, conllu.FORM, conllu.UPOS, conllu.HEAD, conllu.RELATION)
    rows = [tuple(row[place] for place in keep) for row in sentence.rows]
    return f"{_short(conllu.text(sentence))}\n{_aligned(list(zip(*rows, strict=True)))}"


def _question(question: Question) -> str:
    answers = " | ".join(answer.text for answer in question.answers) or "(none)"
    return _fields(id=question.id, context=question.context, question=question.text, answer=answers)


def _series(series: Series) -> str:
    about = f"{len(series.values):,} steps from {series.time[0]} to {series.time[-1]}"
    marked = _count(series.anomalous)
    return _fields(
        name=series.name,
        time=about,
        values=", ".join(series.columns),
        beside=", ".join(series.covariate_columns),
        anomalous=None if marked is None else f"{marked:,} steps",
    )


def _count(marks: Any) -> int | None:
    return None if marks is None else int(marks.sum())


def _image(image: Image) -> str:
    size = " x ".join(map(str, image.pixels.shape))
    captions = "\n".join(f"{'caption':<9} {_short(caption)}" for caption in image.captions)
    return "\n".join(filter(None, [_fields(picture=f"{image.name} {size}".strip(), label=image.label), captions]))


SHOW: dict[type, Callable[..., str]] = {
    Row: _row,
    Labelled: lambda record: _fields(label=", ".join(record.labels), text=record.text) or "(empty)",
    Pair: _pair,
    Alignment: lambda record: " ".join(f"{left}-{right}" for left, right in record.links) or "(none)",
    Tagged: lambda record: _aligned([record.words, *record.layers]),
    Sentence: _sentence,
    Tree: lambda record: _short(trees.to_text(record)),
    Question: _question,
    Analogy: lambda record: f"{record.section}: {' '.join(record.words)}",
    Passage: lambda record: _fields(id=record.id, title=record.title, text=record.text),
    Judgement: lambda record: f"query {record.query}  document {record.document}  grade {record.grade}",
    Series: _series,
    Image: _image,
}
