"""The names of labels in config.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firth.errors import FirthError
from firth.interop.fields import Fields

NAME = "LABEL_{}"  # where none are given
_MOST = 1_000_000


def read_labels(fields: Fields) -> tuple[str, ...]:
    """The labels in the order of their numbers."""
    names = fields.get("id2label", None)
    if names is None:
        return tuple(NAME.format(number) for number in range(min(fields.whole("num_labels", 2), _MOST)))
    numbers = [str(number) for number in range(len(names))] if isinstance(names, dict) else []
    if not numbers or {*names} != {*numbers} or not all(isinstance(name, str) and name for name in names.values()):
        do = 'such as {"0": "bad", "1": "good"}'
        raise FirthError("id2label does not name labels by numbers from 0 on", where=fields.where, do=do)
    found = tuple(names[number] for number in numbers)
    if len({*found}) < len(found):
        raise FirthError("two labels of id2label have one name", where=fields.where, do="give each its own")
    return found


def write_labels(labels: Sequence[str]) -> dict[str, Any]:
    """The fields of config.json."""
    return {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": "single_label_classification",
    }
