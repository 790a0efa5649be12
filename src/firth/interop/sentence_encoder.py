"""Sentence embedding models in the layout of sentence-transformers: encoder, pooling, normalisation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from firth.config import schema
from firth.interop import hf_folder
from firth.interop.tables.bert import NO_HEAD
from firth.runs.gate import Gate

_TYPE = "sentence_transformers.models."
_MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
_POOLS = {"first": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "last": "pooling_mode_lasttoken"}


def encoder_only(config: schema.Neural) -> schema.Neural:
    """The configuration of the bidirectional encoder alone, without a language-modelling head."""
    batching = schema.SegmentPairs(length=config.batching.length)
    return replace(config, data=schema.Text(), batching=batching, head=NO_HEAD, objective=schema.MaskedLM())


def add_pooling(path: Path, config: schema.Neural) -> None:
    """Add the files that describe pooling of token states to one L2-normalised vector."""
    modules = [
        {"idx": number, "name": str(number), "path": folder, "type": _TYPE + name}
        for number, (name, folder) in enumerate(_MODULES.items())
    ]
    pooling: dict[str, Any] = {"word_embedding_dimension": config.backbone.width}
    pooling |= {mode: config.head.pooling == pool for pool, mode in _POOLS.items()}
    files = {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": config.batching.length, "do_lower_case": False},
        "config_sentence_transformers.json": {"similarity_fn_name": "cosine"},
    }
    gate = Gate(path)
    for folder in filter(None, _MODULES.values()):
        gate.make_folder(folder)
    for name, values in files.items():
        gate.replace(name, hf_folder.json_bytes(values))
