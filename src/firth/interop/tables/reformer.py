"""Reformer (Kitaev et al. 2020): local and LSH attention, reversible layers, axial position embeddings."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import ModelFamily, Names, causal_lm
from firth.interop.tensor_steps import Conversion, Reshape, ZeroFilled, concatenated, layer, renamed

_PREFIX = "reformer."
_OUTPUT = "lm_head.decoder.weight"
_MAX_LENGTH = 4096
_PARTS = {"lsh": ("query_key", "value"), "local": ("query", "key", "value")}


def _chunk_sizes(fields: Fields, kind: str) -> dict[str, int]:
    """The chunk length of a type of attention, and the chunks before and after that it attends to."""
    sides = {
        side: fields.non_negative_int(f"{kind}_num_chunks_{side}", default)
        for side, default in (("before", 1), ("after", 0))
    }
    return {"chunk": fields.positive_int(f"{kind}_attn_chunk_length", 64), **sides}


def _layer_types(fields: Fields) -> tuple[str, ...]:
    """The type of attention of each layer."""
    kinds = fields.get("attn_layers", ["local", "lsh", "local", "lsh", "local", "lsh"])
    if not isinstance(kinds, list) or not kinds or not all(kind in _PARTS for kind in kinds):
        raise FirthError(f"attn_layers = {str(kinds)[:40]}: firth supports local and lsh", where=fields.where)
    return tuple(kinds)


def _axial(fields: Fields, width: int) -> schema.AxialPositions:
    rows, columns = fields.positive_ints("axial_pos_shape", (64, 64), 2)
    widths = fields.positive_ints("axial_pos_embds_dim", (64, 192), 2)
    if sum(widths) != width:
        what = f"axial_pos_embds_dim = {list(widths)}: does not add up to hidden_size = {width}"
        raise FirthError(what, where=fields.where)
    return schema.AxialPositions(rows=rows, columns=columns, width=widths[0])


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    fields.require("axial_pos_embds", True)
    fields.require("is_decoder", True)
    kinds, width = _layer_types(fields), fields.positive_int("hidden_size", 256)
    axial, buckets = _axial(fields, width), fields.positive_ints("num_buckets", ())
    hashing = schema.LSH(
        rounds=fields.positive_int("num_hashes", 1), buckets=buckets, across=True, **_chunk_sizes(fields, "lsh")
    )
    stack = schema.Transformer(
        width=width,
        depth=len(kinds),
        heads=fields.positive_int("num_attention_heads", 12),
        context=axial.rows * axial.columns,
        residual="reversible",
        dropout=fields.fraction("hidden_dropout_prob", 0.05),
        positions=axial,
        attention=schema.ReformerAttention(
            layers=kinds,
            local=schema.Local(**_chunk_sizes(fields, "local")),
            lsh=hashing,
            head_width=fields.positive_int("attention_head_size", 64),
            bias=False,
            dropout=fields.fraction("lsh_attention_probs_dropout_prob", 0.0),
        ),
        feedforward=schema.FeedForward(
            width=fields.positive_int("feed_forward_size", 512), activation=fields.activation("hidden_act", "relu")
        ),
        norm=schema.LayerNorm(epsilon=fields.fraction("layer_norm_eps", 1e-12)),
    )
    return causal_lm(schema.TokenInput(), stack, schema.LMHead(tied=False, bias=False), _MAX_LENGTH)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    axial, attention = stack.positions, stack.attention
    buckets = list(attention.lsh.buckets)
    values = {
        "architectures": ["ReformerModelWithLMHead"],
        "hidden_size": stack.width,
        "num_attention_heads": stack.heads,
        "attention_head_size": stack.attention.head_width,
        "feed_forward_size": stack.feedforward.width,
        "hidden_act": HF_ACTIVATIONS[stack.feedforward.activation],
        "layer_norm_eps": stack.norm.epsilon,
        "axial_pos_embds": True,
        "axial_pos_shape": [axial.rows, axial.columns],
        "axial_pos_embds_dim": [axial.width, stack.width - axial.width],
        "max_position_embeddings": stack.context,
        "attn_layers": [*attention.layers],
        "num_hidden_layers": stack.depth,
        "num_hashes": attention.lsh.rounds,
        "num_buckets": buckets[0] if len(buckets) == 1 else buckets or None,
        "is_decoder": True,
        "hidden_dropout_prob": stack.dropout,
        "lsh_attention_probs_dropout_prob": stack.attention.dropout,
        "local_attention_probs_dropout_prob": stack.attention.dropout,
        "initializer_range": stack.init_std,
        "tie_word_embeddings": False,
    }
    for kind, chunks in (("lsh", attention.lsh), ("local", attention.local)):
        values |= {f"{kind}_attn_chunk_length": chunks.chunk}
        values |= {f"{kind}_num_chunks_before": chunks.before, f"{kind}_num_chunks_after": chunks.after}
    return values


def _conversions(config: schema.Neural) -> list[Conversion | ZeroFilled]:
    stack = config.backbone
    axial, positions = stack.positions, f"{_PREFIX}embeddings.position_embeddings.weights"
    first, second = axial.width, stack.width - axial.width
    conversions: list[Conversion | ZeroFilled] = [
        *renamed("inputs.text.weight", f"{_PREFIX}embeddings.word_embeddings.weight"),
        *renamed("backbone.positions.rows_weight", f"{positions}.0", Reshape((-1, 1, first), (-1, first))),
        *renamed(
            "backbone.positions.columns_weight",
            f"{positions}.1",
            Reshape((1, axial.columns, second), (axial.columns, second)),
        ),
    ]
    for number in range(stack.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_PREFIX}encoder.layers.{number}"
        parts = _PARTS[stack.attention.layers[number]]
        names = [f"{theirs}.attention.self_attention.{part}" for part in parts]
        conversions += concatenated(f"{ours}.attention.sublayer.qkv_proj", names, bias=False)
        conversions += layer(f"{ours}.attention.sublayer.out_proj", f"{theirs}.attention.output.dense", bias=False)
        conversions += layer(f"{ours}.attention.pre_norm", f"{theirs}.attention.layer_norm")
        conversions += layer(f"{ours}.feedforward.pre_norm", f"{theirs}.feed_forward.layer_norm")
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.feed_forward.dense.dense")
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.feed_forward.output.dense")
    conversions += layer("backbone.norm", f"{_PREFIX}encoder.layer_norm")
    bias = ZeroFilled("lm_head.bias", lambda ours: (len(ours["inputs.text.weight"]),))  # unused there
    return [*conversions, *renamed("head.weight", _OUTPUT), bias]


REFORMER = ModelFamily(
    model_type="reformer",
    title="Reformer",
    architectures=("ReformerModelWithLMHead",),
    objectives=(schema.CausalLM,),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: isinstance(config.backbone.attention, schema.ReformerAttention),
    base_model_prefix=_PREFIX,
)
