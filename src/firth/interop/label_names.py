"""Class labels in config.json: id2label and label2id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firth.errors import FirthError
from firth.interop.config_fields import Fields

DEFAULT_LABEL = "LABEL_{}"  # as transformers names labels without id2label
_MAX_LABELS = 1_000_000


def read_labels(fields: Fields) -> tuple[str, ...]:
    """The labels in the order of their ids."""
    names = fields.get("id2label", None)
    if names is None:
        return tuple(DEFAULT_LABEL.format(i) for i in range(min(fields.positive_int("num_labels", 2), _MAX_LABELS)))
    ids = [str(i) for i in range(len(names))] if isinstance(names, dict) else []
    if not ids or {*names} != {*ids} or not all(isinstance(name, str) and name for name in names.values()):
        do = 'write it as {"0": "negative", "1": "positive"}'
        raise FirthError("id2label does not map the ids 0, 1, … to labels", where=fields.where, do=do)
    labels = tuple(names[i] for i in ids)
    if len({*labels}) < len(labels):
        raise FirthError("id2label gives two ids the same label", where=fields.where, do="give each its own")
    return labels


def write_labels(labels: Sequence[str]) -> dict[str, Any]:
    """The fields of config.json."""
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
        "problem_type": "single_label_classification",
    }
