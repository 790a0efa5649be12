"""Longformer (Beltagy et al. 2020): RoBERTa with sliding-window attention and global attention with own projections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import Fields
from firth.interop.model_family import ModelFamily, Names, masked_lm
from firth.interop.tables import bert
from firth.interop.tensor_steps import Conversion, ZeroFilled, concatenated

_PREFIX = "longformer."
_OUTPUT = "lm_head.decoder.weight"
_MAX_LENGTH = 4096


def _windows(fields: Fields) -> tuple[int, ...]:
    """The attention window of each layer on each side; attention_window counts both sides."""
    windows, depth = fields.positive_ints("attention_window", (512,)), fields.positive_int("num_hidden_layers", 12)
    if any(window % 2 for window in windows) or len(windows) not in (1, depth):
        what = f"attention_window = {str(list(windows))[:40]}: firth supports an even number, or one for each layer"
        raise FirthError(what, where=fields.where)
    return tuple(window // 2 for window in windows)


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    stack = bert.backbone(fields)
    attention = schema.WindowAttention(
        window=_windows(fields), global_projections=True, dropout=stack.attention.dropout
    )
    stack = replace(stack, context=bert.context_after_padding(fields), attention=attention)
    inputs = schema.TokenInput(segments=fields.positive_int("type_vocab_size", 2))
    if "lm_head.dense.weight" not in names:
        return masked_lm(inputs, stack, bert.NO_HEAD, _MAX_LENGTH)
    head = schema.LMHead(tied=_OUTPUT not in names, transform=True, norm_epsilon=stack.norm.epsilon)
    return masked_lm(inputs, stack, head, _MAX_LENGTH)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    kind = "LongformerForMaskedLM" if config.head.transform else "LongformerModel"
    window = {"attention_window": [2 * window for window in config.backbone.attention.window]}
    return {"architectures": [kind], **bert.sizes(config), **window}


def _conversions(config: schema.Neural) -> list[Conversion | ZeroFilled]:
    conversions = [*bert.embeddings(_PREFIX), *bert.segments(_PREFIX, config.inputs["text"].segments)]
    conversions += bert.blocks(_PREFIX, config.backbone.depth)
    for number in range(config.backbone.depth):
        theirs = f"{_PREFIX}encoder.layer.{number}.attention.self"
        parts = [f"{theirs}.{part}_global" for part in ("query", "key", "value")]
        conversions += concatenated(f"backbone.blocks.{number}.attention.sublayer.global_projections.qkv_proj", parts)
    return conversions + bert.lm_head(config.head, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", _OUTPUT)


LONGFORMER = ModelFamily(
    model_type="longformer",
    title="Longformer",
    architectures=("LongformerForMaskedLM", "LongformerModel"),
    objectives=(schema.MaskedLM,),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: isinstance(config.backbone.attention, schema.WindowAttention),
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    offset_positions=f"{_PREFIX}embeddings.position_embeddings.weight",
    tied_weights={_OUTPUT: f"{_PREFIX}embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"},
    ignored_keys=(*bert.BUFFERS, r"longformer\.pooler\..*"),
)
