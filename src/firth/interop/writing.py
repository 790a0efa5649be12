"""A system of ours as a Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError, unknown
from firth.interop import folder
from firth.interop.fields import Fields
from firth.interop.labels import write_labels
from firth.interop.pictures import FILE as PIXELS
from firth.interop.pictures import write_pixels
from firth.interop.steps import Steps, give
from firth.interop.table import Table, require_same, settle, steps_of, takes, unread
from firth.interop.tables import TABLES
from firth.text.tokenizer import Tokenizer

_SHOWN = {"start": "bos", "end": "eos", "pad": "pad", "unknown": "unk", "mask": "mask", "cls": "cls", "sep": "sep"}


def choose(config: schema.Neural, name: str = "") -> Table:
    """The family that a run is written as: the named one, or the first that fits."""
    if name and name not in TABLES:
        raise unknown("family", name, TABLES)
    for table in [TABLES[name]] if name else TABLES.values():
        if takes(table, config) and (name or table.fits(settle(config))):
            return table
    kind = f"network of the kind {config.backbone.kind} with the objective {config.objective.kind}"
    titles = ", ".join(table.title for table in TABLES.values())
    what = f"{TABLES[name].title} has no {kind}" if name else f"no family there has a {kind}"
    raise FirthError(what, do=f"there are {titles}")


def write(
    path: Path,
    table: Table,
    config: schema.Neural,
    tokenizer: Tokenizer | None,
    tensors: Mapping[str, Tensor],
    labels: Sequence[str] = (),
) -> None:
    """The folder: configuration, weights, and the tokenizer or how pictures are made ready; refused if the family has
    no such model."""
    whole = settle(config)
    described = {"model_type": table.model, **table.write(whole), "dtype": "float32"}
    described |= write_labels(labels) if labels else {}
    if tokenizer is None:
        others = {PIXELS: folder.json_bytes(write_pixels(whole.input))}
    else:
        described |= {**_marks(whole, tokenizer), "vocab_size": len(tensors["input.weight"])}
        others = _token_files(tokenizer, whole, described)
    rows = unread(table, Fields(described, table.title))
    if rows:
        described["max_position_embeddings"] += rows
    folder.write(path, described, give(_checked(table, whole, described, tensors, rows), tensors), others)


def _checked(
    table: Table, config: schema.Neural, described: Mapping[str, Any], tensors: Mapping[str, Tensor], rows: int
) -> Steps:
    """The steps, if what they write would be read as the same model."""
    steps = steps_of(table, config, rows)
    names = frozenset(name for step in steps for name in step.theirs)
    require_same(table, config, table.read(Fields(described, table.title), names))
    kept = {step.ours for step in steps if step.ours}
    lost = [name for name in tensors if name not in kept and not name.startswith("objective.")]
    if lost or not kept <= set(tensors):
        odd = sorted({*lost, *(kept - set(tensors))})
        raise FirthError(f"{table.title} has no place for {', '.join(odd[:3])}", do="export a run of another kind")
    return steps


def _marks(config: schema.Neural, tokenizer: Tokenizer) -> dict[str, Any]:
    """The special tokens of config.json."""
    special = tokenizer.special
    marks = {"pad_token_id": special.pad, "bos_token_id": special.start, "eos_token_id": special.end}
    if isinstance(config.objective, schema.Written):
        marks |= {"decoder_start_token_id": getattr(special, config.objective.first)}
    return marks


# --- the tokenizer ------------------------------------------------------------------------------------------------

_SILENT = (schema.Masked, schema.Distil, schema.Supervised)  # objectives of models that write nothing


def _token_files(tokenizer: Tokenizer, config: schema.Neural, described: Mapping[str, Any]) -> dict[str, bytes]:
    """The tokenizer's files, and how a model that writes begins and ends."""
    found = {
        "tokenizer.json": folder.json_bytes(_framed(tokenizer, config)),
        "tokenizer_config.json": folder.json_bytes(_settings(tokenizer, config)),
    }
    if not isinstance(config.objective, _SILENT):
        marks = {key: value for key, value in described.items() if key.endswith("_token_id") and value is not None}
        found["generation_config.json"] = folder.json_bytes({"_from_model_config": True, **marks})
    return found


def _framed(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any]:
    """tokenizer.json, with the frame that the model is used to around each text unless it has one."""
    file = json.loads(tokenizer.to_json())
    frame = _frame(tokenizer, config)
    if file.get("post_processor") is None and frame:
        file["post_processor"] = frame
    return file


def _frame(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any] | None:
    special = tokenizer.special
    if isinstance(config.objective, schema.Causal):
        return None
    first, between, last = special.cls, special.sep, special.sep
    if isinstance(config.objective, schema.Written):
        first, between, last = (special.start if config.objective.opened else None), special.end, special.end
    elif getattr(config.batching, "frame", "first") == "last":
        first, last = special.start, special.cls

    def mark(number: int | None, kind: int) -> list[dict[str, Any]]:
        return [] if number is None else [{"SpecialToken": {"id": tokenizer.piece(number), "type_id": kind}}]

    def text(name: str, kind: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": kind}}

    opened = [*mark(first, 0), text("A", 0)]
    pieces = {tokenizer.piece(number): number for number in (first, between, last) if number is not None}
    known = {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in pieces.items()}
    return {
        "type": "TemplateProcessing",
        "single": [*opened, *mark(last, 0)],
        "pair": [*opened, *mark(between, 0), text("B", 1), *mark(last, 1)],
        "special_tokens": known,
    }


def _settings(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any]:
    """tokenizer_config.json."""
    backbone = config.backbone.encoder if isinstance(config.backbone, schema.EncoderDecoder) else config.backbone
    inputs = ["input_ids", *(["token_type_ids"] if config.input.segments else []), "attention_mask"]
    numbers = {name: getattr(tokenizer.special, role) for role, name in _SHOWN.items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": backbone.context,
        "model_input_names": inputs,
        "clean_up_tokenization_spaces": False,
        **{f"{name}_token": tokenizer.piece(number) for name, number in numbers.items() if number is not None},
    }
