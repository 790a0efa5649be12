"""Error analysis of labelled tasks: the tables behind the scores, and each example with the loss of its gold labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from firth.display import Table, text_table
from firth.metrics import calibration, tagging
from firth.metrics.classification import confusion_matrix
from firth.metrics.label_counts import count_labels

Tables = dict[str, Table[dict[str, Any]]]
PRINT_WIDTH = 80
_LABEL_WIDTH, _CONFUSIONS = 24, 12  # shown of a label, and of the confusions
_MATRIX, _CONFUSED = "confusion matrix", "confusions"
_MATRIX_LABELS = 100  # at most; of more labels the confusions alone


class Mark(NamedTuple):
    """Characters of a text that are gold, predicted, or both."""

    start: int
    end: int
    label: str
    side: Literal["gold", "predicted", "both"]


@dataclass(frozen=True)
class AnalysedExample:
    """An example with its gold and predicted labels."""

    loss: float  # negative log-likelihood of what is gold, in nats; squared error of a value
    correct: bool
    gold: str
    predicted: str
    texts: tuple[str, ...]
    probabilities: tuple[tuple[str, float], ...] = ()  # of the most probable labels
    marks: tuple[Mark, ...] = ()  # in the last text
    where: str = ""  # file and line


@dataclass(frozen=True)
class ErrorAnalysis:
    """The tables of a split and its examples, those with the highest loss first."""

    split: str
    tables: Tables
    examples: list[AnalysedExample]
    loss: str = "negative log-likelihood"

    def to_dict(self) -> dict[str, Any]:
        """The tables as JSON values."""
        return {name: table.to_dicts() for name, table in self.tables.items()}


def analysis(split: str, tables: Tables, examples: Sequence[AnalysedExample], **more: str) -> ErrorAnalysis:
    """The analysis with its examples in order of their loss."""
    return ErrorAnalysis(split, tables, sorted(examples, key=lambda each: -each.loss), **more)


def label_tables(
    gold: Sequence[Collection[str]],
    predicted: Sequence[Sequence[str]],
    probabilities: np.ndarray,
    labels: Sequence[str],
    independent: bool = False,
) -> Tables:
    """Scores by class, confusion matrix and calibration of labelled examples; probabilities (examples, labels), which
    are independent of each other in a multi-label model."""
    tables = {"classes": count_labels(gold, predicted).table()}
    if independent:
        truth = np.array([[label in true for label in labels] for true in gold])
        return tables | calibration_of(probabilities.ravel(), truth.ravel(), _brier_of_decisions(probabilities, truth))
    if all(len(true) == 1 for true in gold):
        tables |= _confusions([next(iter(true)) for true in gold], [labels[at] for at in probabilities.argmax(1)])
        ids = _ids([next(iter(true)) for true in gold], labels)
        return tables | calibration_tables(probabilities, ids)
    best = probabilities.argmax(1)
    right = np.array([labels[at] in true for at, true in zip(best, gold, strict=True)])
    return tables | calibration_of(probabilities.max(1), right)


def tag_tables(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    marginals: Sequence[np.ndarray],
    tags: Sequence[str],
    known: Sequence[Sequence[bool]] = (),
    spans: bool = False,
) -> Tables:
    """Spans by type where the tags mark some, scores by tag, confusion matrix, accuracy of words that the training
    sentences have and of those that they lack, and calibration of the marginals (words, tags)."""
    tables: Tables = {"spans": tagging.count_chunks(gold, predicted).table()} if spans else {}
    items = [[set(enumerate(tags_of)) for tags_of in side] for side in (gold, predicted)]
    flat = [[tag for sentence in side for tag in sentence] for side in (gold, predicted)]
    tables |= {"tags": count_labels(*items, lambda item: item[1]).table(), **_confusions(*flat)}
    if known:
        tables["words"] = _by_known_words(*flat, np.array([is_known for row in known for is_known in row], bool))
    return tables | calibration_tables(np.concatenate(list(marginals)), _ids(flat[0], tags))


def calibration_tables(probabilities: np.ndarray, gold: np.ndarray) -> Tables:
    """Calibration of the most probable label: probabilities (examples, labels), gold ids; −1: a label that cannot be
    predicted, to which the model gives no probability."""
    padded = np.pad(probabilities.astype(float), ((0, 0), (0, 1)))
    ids = np.where(gold < 0, probabilities.shape[1], gold)
    confidence, right = calibration.top_label(padded, ids)
    return calibration_of(confidence, right, calibration.brier_score(padded, ids))


def calibration_of(confidence: np.ndarray, correct: np.ndarray, brier: float | None = None) -> Tables:
    """Calibration errors, and the bins of the reliability diagram."""
    bins = calibration.reliability(np.clip(confidence, 0.0, 1.0), correct)
    row = {"predictions": int(bins.counts.sum()), "ECE": bins.expected_calibration_error,
           "largest bin error": bins.maximum_calibration_error}  # fmt: skip
    row |= {} if brier is None else {"Brier score": brier}
    return {"calibration": Table([row]), "reliability": bins.table()}


def _brier_of_decisions(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """The Brier score of yes-or-no decisions, over both outcomes."""
    return float(2 * ((probabilities - truth) ** 2).mean())


def _confusions(gold: Sequence[str], predicted: Sequence[str]) -> Tables:
    """The confusion matrix, and the gold label, the wrong prediction and how often, the most frequent first."""
    wrong = Counter(pair for pair in zip(gold, predicted, strict=True) if pair[0] != pair[1])
    order = sorted(wrong.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = Table([{"gold": true, "predicted": guess, "count": count} for (true, guess), count in order])
    if len({*gold, *predicted}) > _MATRIX_LABELS:
        return {_CONFUSED: rows}
    return {_MATRIX: confusion_matrix(gold, predicted).table(), _CONFUSED: rows}


def _by_known_words(gold: Sequence[str], predicted: Sequence[str], known: np.ndarray) -> Table[dict[str, Any]]:
    right = np.array([true == guess for true, guess in zip(gold, predicted, strict=True)], bool)
    parts = {"known": known, "unknown": ~known, "all": np.ones_like(known)}
    return Table([{"words": name, "count": int(part.sum()), "correct": int(right[part].sum()),
                   "accuracy": float(right[part].mean()) if part.any() else None}
                  for name, part in parts.items()])  # fmt: skip


def _ids(labels: Sequence[str], known: Sequence[str]) -> np.ndarray:
    column = {label: at for at, label in enumerate(known)}
    return np.array([column.get(label, -1) for label in labels], np.int64)


def negative_log(probability: float) -> float:
    """−ln p; infinite of zero."""
    with np.errstate(divide="ignore"):
        return float(-np.log(probability)) + 0.0


# --- for the terminal ---------------------------------------------------------------------------------------------


def format_tables(tables: Tables, width: int = PRINT_WIDTH) -> list[str]:
    """The tables as text under their names, no wider than so many columns: of a confusion matrix that is too wide, the
    most frequent confusions instead."""
    lines: list[str] = []
    for name, table in tables.items():
        prefix, kind = name[: name.rfind(": ") + 2] if ": " in name else "", name.rpartition(": ")[2]
        matrix = _matrix_text(tables.get(prefix + _MATRIX), width)
        if not table or (kind == _MATRIX and not matrix) or (kind == _CONFUSED and matrix):
            continue
        if kind == _CONFUSED and len(table) > _CONFUSIONS:
            name, table = f"{name} ({_CONFUSIONS} of {len(table)} kinds)", Table(table[:_CONFUSIONS])
        text = matrix if kind == _MATRIX else text_table(_shorten(table))
        lines += ["", name, *(f"  {line}"[:width] for line in text.split("\n"))]
    return lines


def _matrix_text(table: Table[dict[str, Any]] | None, width: int) -> str:
    """The confusion matrix as text; nothing if it is too wide, or if labels are equal when cut."""
    rows = _shorten(table or ())
    if not rows or len(rows[0]) < len(table[0] if table else ()):
        return ""
    text = text_table(rows)
    return text if _width(text) <= width else ""


def _width(text: str) -> int:
    return max(map(len, text.split("\n"))) + 2


def _shorten(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{_cut(name): _cut(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows]


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL_WIDTH else text[: _LABEL_WIDTH - 1] + "…"
