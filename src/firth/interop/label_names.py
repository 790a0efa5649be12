"""Labels of a classification head in config.json, and what its outputs are: id2label, problem_type, activation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import Fields

DEFAULT_LABEL = "LABEL_{}"  # as transformers names labels without id2label
_MAX_LABELS = 1_000_000
_SPAN_TAG = re.compile(r"O|[BIELSU]-.+")
_PROBLEM_TYPES = {
    "single-label": "single_label_classification",
    "multi-label": "multi_label_classification",
    "regression": "regression",
}
# the activation of a cross-encoder's score, by its name in torch.nn
_ACTIVATIONS = {"Identity": "none", "Sigmoid": "sigmoid"}
_ACTIVATION_MODULES = {
    "none": "torch.nn.modules.linear.Identity",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}


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


def tag_scheme(tags: Sequence[str]) -> str:
    """The tagging scheme of a model's tags; empty if they do not mark spans."""
    if not all(_SPAN_TAG.fullmatch(tag) for tag in tags):
        return ""
    prefixes = {tag[0] for tag in tags}
    if prefixes & {"E", "S"}:
        return "bioes"
    return "bilou" if prefixes & {"L", "U"} else "iob2" if "B" in prefixes else "iob1"


def tag_layer(tags: Sequence[str]) -> str:
    """The name of the layer of a model's tags."""
    return "entity" if tag_scheme(tags) else "tag"


def read_outputs(fields: Fields, head: schema.ClassificationHead) -> schema.ClassificationHead:
    """The head with its problem type. One label without one is a score between 0 and 1, as the pipeline of transformers
    and the cross-encoders of sentence-transformers have it."""
    problem, activation = _problem_type(fields), _activation(fields)
    if problem == "multi-label" or (len(read_labels(fields)) > 1 and problem != "regression"):
        return replace(head, problem_type=problem)
    default = "none" if problem == "regression" else "sigmoid"
    return replace(head, problem_type="regression", output_activation=activation or default)


def _problem_type(fields: Fields) -> str:
    theirs = {value: name for name, value in _PROBLEM_TYPES.items()}
    fields.require("problem_type", *theirs)
    return theirs[fields.get("problem_type", _PROBLEM_TYPES["single-label"])]


def _activation(fields: Fields) -> str:
    """The activation of the score that sentence-transformers wrote; empty if it wrote none."""
    own = fields.get("sentence_transformers", {})
    path = own.get("activation_fn") if isinstance(own, dict) else None
    path = path or fields.get("sbert_ce_default_activation_function", "")
    name = str(path).rpartition(".")[2]
    if path and name not in _ACTIVATIONS:
        what = f"activation_fn = {str(path)[:60]}: firth supports {' or '.join(_ACTIVATIONS)}"
        raise FirthError(what, where=fields.where)
    return _ACTIVATIONS.get(name, "")


def write_labels(labels: Sequence[str] | Mapping[str, Sequence[str]], head: schema.Head) -> dict[str, Any]:
    """The fields of config.json."""
    if isinstance(labels, Mapping):
        if len(labels) > 1:
            do = "train one with a single layer: --set data.layers=upos"
            raise FirthError(f"a tagger of {len(labels)} layers, and their class has one", where="data.layers", do=do)
        (labels,) = labels.values()
    values: dict[str, Any] = {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
    if not isinstance(head, schema.ClassificationHead):
        return values
    values["problem_type"] = _PROBLEM_TYPES[head.problem_type]
    if head.problem_type == "regression":
        values["sentence_transformers"] = {"activation_fn": _ACTIVATION_MODULES[head.output_activation]}
    return values
