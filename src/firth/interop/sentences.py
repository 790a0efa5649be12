"""Sentence encoders as folders that sentence-transformers loads: the encoder's own, and how its states become one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from firth.config import schema
from firth.interop import folder
from firth.interop.tables.bert import NO_HEAD
from firth.runs import files

_TYPE = "sentence_transformers.models."
_MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
_POOLS = {"first": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "last": "pooling_mode_lasttoken"}


def bare(config: schema.Neural) -> schema.Neural:
    """The encoder by itself: a model that reads both ways, without the layers that fill gaps."""
    rows = schema.Framed(length=config.batching.length)
    return replace(config, data=schema.Text(), batching=rows, head=NO_HEAD, objective=schema.Masked())


def add_pooling(path: Path, config: schema.Neural) -> None:
    """Put beside an encoder's files those that say how a text's states become one vector of length 1."""
    modules = [
        {"idx": number, "name": str(number), "path": place, "type": _TYPE + name}
        for number, (name, place) in enumerate(_MODULES.items())
    ]
    pooling: dict[str, Any] = {"word_embedding_dimension": config.backbone.width}
    pooling |= {mode: config.head.pool == pool for pool, mode in _POOLS.items()}
    written = {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": config.batching.length, "do_lower_case": False},
        "config_sentence_transformers.json": {"similarity_fn_name": "cosine"},
    }
    for place in filter(None, _MODULES.values()):
        files.make_folder(path / place)
    for name, values in written.items():
        files.replace_file(path / name, folder.json_bytes(values))
