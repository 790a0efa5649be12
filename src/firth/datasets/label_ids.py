"""The labels of a data set as targets: ids, several labels at once, or values; one table by the problem's type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from firth.datasets.labelled_dataset import Split
from firth.datasets.readers.values import parse_number, quote
from firth.datasets.records import Pair
from firth.errors import FirthError
from firth.types import Target

UNKNOWN_LABEL = -1  # the id of a label that the training examples do not have
VALUE = "value"  # the name of a regression's only output


def label_names(train: Split, problem_type: str = "single-label") -> tuple[str, ...]:
    """The names of the outputs: the labels of the training examples, from frequent to rare."""
    return PROBLEM_TYPES[problem_type].names(train)


def example_targets(part: Split, names: Sequence[str], problem_type: str = "single-label") -> Target[np.ndarray]:
    """The target of each example; an example without a label that the training examples have weighs 0."""
    return PROBLEM_TYPES[problem_type].targets(part, names)


def balanced(target: Target[np.ndarray], count: int) -> Target[np.ndarray]:
    """The same label ids with weights so that each of `count` labels has the same weight in all, and an example has 1
    on average."""
    ids = target.values[target.weight > 0]
    sizes = np.bincount(ids, minlength=count)
    weights = len(ids) / (count * np.maximum(sizes, 1))
    return Target(target.values, (target.weight * weights[target.values]).astype(np.float32))


def encode_labels(labels: Iterable[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """The id of each example's first label, or UNKNOWN_LABEL (examples,)."""
    ids = {name: number for number, name in enumerate(names)}
    return np.array([ids.get("".join(each[:1]), UNKNOWN_LABEL) for each in labels], np.int64)


def _counted_labels(train: Split) -> tuple[str, ...]:
    counts = Counter(label for labels in train.labels for label in labels)
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))


def _single_labels(train: Split) -> tuple[str, ...]:
    several = next((labels for labels in train.labels if len(labels) > 1), None)
    if several:
        what = f"a text with {len(several)} labels ({', '.join(several)}), but the network predicts one"
        do = "give one label each, or set head.problem_type=multi-label"
        raise FirthError(what, where=train.name, do=do)
    return _counted_labels(train)


def _label_ids(part: Split, names: Sequence[str]) -> Target[np.ndarray]:
    if len(names) < 2:
        what = f"{len(names)} label in the training examples ({', '.join(names)})"
        raise FirthError(what, where="data", do="give examples of at least two labels")
    ids = encode_labels(part.labels, names)
    known = ids != UNKNOWN_LABEL
    return Target(np.where(known, ids, 0), known.astype(np.float32))


def _multi_hot(part: Split, names: Sequence[str]) -> Target[np.ndarray]:
    ids = {name: number for number, name in enumerate(names)}
    values = np.zeros((len(part.examples), len(names)), np.float32)
    for row, labels in zip(values, part.labels, strict=True):
        row[[ids[label] for label in labels if label in ids]] = 1.0
    return Target(values, np.ones(len(values), np.float32))


def _values(part: Split, names: Sequence[str]) -> Target[np.ndarray]:
    values = [
        example.score if isinstance(example, Pair) else _number(labels, part)
        for example, labels in zip(part.examples, part.labels, strict=True)
    ]
    if None in values:
        raise FirthError("a pair without a score", where=part.name, do="give a score to each")
    return Target(np.array(values, np.float32), np.ones(len(values), np.float32))


def _number(labels: Sequence[str], part: Split) -> float:
    value = parse_number("".join(labels[:1]))
    if value is None:
        what = f"label {quote(', '.join(labels))} is not a number"
        raise FirthError(what, where=part.name, do="give a number in every row, or train a classifier")
    return value


class ProblemType(NamedTuple):
    """How the outputs are named, and how examples become targets."""

    names: Callable[[Split], tuple[str, ...]]
    targets: Callable[[Split, Sequence[str]], Target[np.ndarray]]


PROBLEM_TYPES = {
    "single-label": ProblemType(_single_labels, _label_ids),
    "multi-label": ProblemType(_counted_labels, _multi_hot),
    "regression": ProblemType(lambda train: (VALUE,), _values),
}
