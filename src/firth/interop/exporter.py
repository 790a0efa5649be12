"""Export to Hugging Face: a trained network as a folder that `from_pretrained` loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError, unknown
from firth.interop import hf_folder
from firth.interop.config_fields import Fields
from firth.interop.image_preprocessor import FILE as PREPROCESSOR
from firth.interop.image_preprocessor import preprocessor_config
from firth.interop.label_names import write_labels
from firth.interop.model_family import (
    ModelFamily,
    conversions_of,
    is_headless,
    position_offset,
    require_representable,
    resolve_sizes,
    supports,
)
from firth.interop.tables import MODEL_FAMILIES
from firth.interop.tensor_steps import Conversions, tensors_to_hf
from firth.tokenizers.special_tokens import special_tokens_around
from firth.tokenizers.tokenizer import Tokenizer

# the roles of our special tokens, as transformers names them
_SPECIAL_TOKENS = {
    "start": "bos",
    "end": "eos",
    "pad": "pad",
    "unknown": "unk",
    "mask": "mask",
    "cls": "cls",
    "sep": "sep",
}


def select_family(config: schema.Neural, name: str = "") -> ModelFamily:
    """The model family to export as: the named one, or the first that represents the configuration by default."""
    if name and name not in MODEL_FAMILIES:
        raise unknown("family", name, MODEL_FAMILIES)
    for family in [MODEL_FAMILIES[name]] if name else MODEL_FAMILIES.values():
        if supports(family, config) and (name or family.is_default(resolve_sizes(config))):
            return family
    kind = f"network of the kind {config.backbone.kind} with the objective {config.objective.kind}"
    titles = ", ".join(family.title for family in MODEL_FAMILIES.values())
    what = f"{MODEL_FAMILIES[name].title} has no {kind}" if name else f"no Hugging Face family has a {kind}"
    raise FirthError(what, do=f"the families are {titles}")


def save_pretrained(
    path: Path,
    family: ModelFamily,
    config: schema.Neural,
    tokenizer: Tokenizer | None,
    tensors: Mapping[str, Tensor],
    labels: Sequence[str] | Mapping[str, Sequence[str]] = (),
    generation: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the folder: configuration, weights, and tokenizer or image preprocessor; refused if the family cannot
    represent the model. `generation` has more of generation_config.json."""
    resolved = resolve_sizes(config)
    hf_config, conversions = describe(family, config, tokenizer, tensors, labels)
    if tokenizer is None:
        others = {PREPROCESSOR: hf_folder.json_bytes(preprocessor_config(resolved.inputs["image"]))}
    else:
        others = _tokenizer_files(tokenizer, resolved, hf_config, generation)
    hf_folder.write(path, hf_config, tensors_to_hf(conversions, tensors), others)


def describe(
    family: ModelFamily,
    config: schema.Neural,
    tokenizer: Tokenizer | None,
    tensors: Mapping[str, Tensor],
    labels: Sequence[str] | Mapping[str, Sequence[str]] = (),
) -> tuple[dict[str, Any], Conversions]:
    """config.json and the conversions of the tensors; refused if the family cannot represent the model."""
    resolved = resolve_sizes(config)
    if isinstance(labels, Mapping):  # the layers of tags, which the configuration need not name
        resolved = replace(resolved, data=replace(resolved.data, layers=tuple(labels)))
    hf_config = {"model_type": family.model_type, **family.write_config(resolved), "dtype": "float32"}
    hf_config |= write_labels(labels, config.head) if labels else {}
    if tokenizer is not None:
        hf_config |= {**_special_token_ids(resolved, tokenizer), "vocab_size": len(tensors["inputs.text.weight"])}
    offset = position_offset(family, Fields(hf_config, family.title))
    if offset:
        hf_config["max_position_embeddings"] += offset
    return hf_config, _checked_conversions(family, resolved, hf_config, tensors, offset)


def _checked_conversions(
    family: ModelFamily, config: schema.Neural, hf_config: Mapping[str, Any], tensors: Mapping[str, Tensor], offset: int
) -> Conversions:
    """The conversions; refused unless importing what they export gives the same model."""
    conversions = conversions_of(family, config, offset)
    exported = frozenset(name for each in conversions for name in each.theirs)
    require_representable(family, config, family.read_config(Fields(hf_config, family.title), exported))
    mapped = {each.ours for each in conversions if each.ours}
    unused = ("objective.", "head.") if is_headless(config) else ("objective.",)
    unmapped = [name for name in tensors if name not in mapped and not name.startswith(unused)]
    if unmapped or not mapped <= set(tensors):
        names = sorted({*unmapped, *(mapped - set(tensors))})
        what = f"{family.title} has no counterpart of {', '.join(names[:3])}"
        raise FirthError(what, do="this network cannot be exported as that family")
    return conversions


def _special_token_ids(config: schema.Neural, tokenizer: Tokenizer) -> dict[str, Any]:
    """The ids of special tokens in config.json."""
    special = tokenizer.special
    ids = {"pad_token_id": special.pad_id, "bos_token_id": special.start, "eos_token_id": special.end}
    if isinstance(config.objective, schema.Seq2Seq):
        ids |= {"decoder_start_token_id": getattr(special, config.objective.decoder_start)}
    return ids


# --- the tokenizer ------------------------------------------------------------------------------------------------

_NOT_GENERATIVE = (schema.MaskedLM, schema.Distillation, schema.Supervised)  # no generation_config.json


def _tokenizer_files(
    tokenizer: Tokenizer, config: schema.Neural, hf_config: Mapping[str, Any], generation: Mapping[str, Any]
) -> dict[str, bytes]:
    """The tokenizer's files, and generation_config.json for models that generate text."""
    files = {
        "tokenizer.json": hf_folder.json_bytes(_tokenizer_json(tokenizer, config)),
        "tokenizer_config.json": hf_folder.json_bytes(_tokenizer_config(tokenizer, config)),
    }
    if not isinstance(config.objective, _NOT_GENERATIVE):
        ids = {key: value for key, value in hf_config.items() if key.endswith("_token_id") and value is not None}
        files["generation_config.json"] = hf_folder.json_bytes({**(generation or {"_from_model_config": True}), **ids})
    return files


def _tokenizer_json(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any]:
    """tokenizer.json, with the post-processor that adds special tokens as in training, unless it has one."""
    values = json.loads(tokenizer.to_json())
    post_processor = _post_processor(tokenizer, config)
    if values.get("post_processor") is None and post_processor:
        values["post_processor"] = post_processor
    return values


def _post_processor(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any] | None:
    """A template that puts special tokens around a text and between a pair; None where there are none."""
    special = tokenizer.special
    if isinstance(config.objective, schema.CausalLM):
        return None
    layout, second = config.batching.layout, int(config.batching.layout != "double-sep")
    if isinstance(config.objective, schema.Seq2Seq):
        first, between, last = [special.start] * config.objective.add_start_token, [special.end], [special.end]
    else:
        first, between, last = special_tokens_around(layout, special)
    if not last:
        return None

    def token(ids: list[int], segment: int) -> list[dict[str, Any]]:
        return [{"SpecialToken": {"id": tokenizer.id_to_token(number), "type_id": segment}} for number in ids]

    def sequence(name: str, segment: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": segment}}

    start = [*token(first, 0), sequence("A", 0)]
    pieces = {tokenizer.id_to_token(number): number for number in (*first, *between, *last)}
    return {
        "type": "TemplateProcessing",
        "single": [*start, *token(last, 0)],
        "pair": [*start, *token(between, 0), sequence("B", second), *token(last, second)],
        "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in pieces.items()},
    }


def _tokenizer_config(tokenizer: Tokenizer, config: schema.Neural) -> dict[str, Any]:
    """The contents of tokenizer_config.json."""
    backbone = config.backbone.encoder if isinstance(config.backbone, schema.EncoderDecoder) else config.backbone
    inputs = ["input_ids", *(["token_type_ids"] if config.inputs["text"].segments else []), "attention_mask"]
    special_ids = {name: getattr(tokenizer.special, role) for role, name in _SPECIAL_TOKENS.items()}
    special_ids["pad"] = tokenizer.special.pad_id
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": backbone.context,
        "model_input_names": inputs,
        "clean_up_tokenization_spaces": False,
        **{
            f"{name}_token": tokenizer.id_to_token(number) for name, number in special_ids.items() if number is not None
        },
    }
