"""Training data of estimators, as files: texts with labels or values, in a training and a validation part."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.sklearn.input_checks import Text
from firth.types import generator

FIELDS = {str: ("text",), tuple: ("left", "right")}


class TrainingFiles(NamedTuple):
    """Names of the training and the validation examples."""

    text: str
    valid: str


def write_parts(
    texts: Sequence[Text], values: Sequence[Any], validates: np.ndarray, folder: Path, write: Callable[..., str]
) -> TrainingFiles:
    """The files of the examples that train and of those that validate."""
    names = []
    for part, rows in (("train", ~validates), ("valid", validates)):
        here = np.flatnonzero(rows).tolist()
        names.append(write([texts[n] for n in here], [values[n] for n in here], folder / part) if here else "")
    return TrainingFiles(*names)


def write_rows(texts: Sequence[Text], values: Sequence[Any], path: Path, role: str) -> str:
    """JSON lines of texts or text pairs, each with what is predicted of it."""
    names = (*FIELDS[type(texts[0])], role)
    rows = ((*((text,) if isinstance(text, str) else text), value) for text, value in zip(texts, values, strict=True))
    lines = (json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    path = path.with_suffix(".jsonl")
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def write_label_sets(texts: Sequence[Text], labels: Sequence[Sequence[str]], path: Path) -> str:
    """fastText's format, which has any number of labels before a text; line ends in it become blanks."""
    lines = (
        " ".join([*(f"__label__{label}" for label in own), " ".join(str(text).split())]) + "\n"
        for text, own in zip(texts, labels, strict=True)
    )
    path = path.with_suffix(".ft")
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def validation_rows(groups: Sequence[Any], fraction: float, seed: int) -> np.ndarray:
    """Which rows validate (rows,): the same fraction of each group, a label say, at least one row in all; every group
    keeps a row to train on."""
    groups, chosen = np.asarray(groups), np.zeros(len(groups), bool)
    random = generator(seed, "validation")
    largest = np.zeros(0, int)
    for group in np.unique(groups):
        rows = random.permutation(np.flatnonzero(groups == group))
        chosen[rows[: min(len(rows) - 1, round(fraction * len(rows)))]] = True
        largest = max(largest, rows, key=len)
    if not chosen.any() and len(largest) > 1:
        chosen[largest[0]] = True
    return chosen
