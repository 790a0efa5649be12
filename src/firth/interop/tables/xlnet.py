"""XLNet (Yang et al. 2019): relative position and segment encodings, two-stream attention, segment recurrence."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import MAX_LENGTH, ModelFamily, Names, imported_system
from firth.interop.tensor_steps import Concatenate, Conversion, Reshape, Transpose, layer, renamed

_PREFIX = "transformer."
_OUTPUT = "lm_loss.weight"


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    fields.require("attn_type", "bi")
    fields.require("untie_r", True)
    fields.require("clamp_len", -1)
    for name in ("bi_data", "same_length"):
        fields.require(name, False)
    stack = schema.Transformer(
        width=fields.positive_int("d_model", 1024),
        depth=fields.positive_int("n_layer", 24),
        heads=fields.positive_int("n_head", 16),
        mask="permutation",
        dropout=fields.fraction("dropout", 0.1),
        positions=schema.RelativePositions(segments=True),
        attention=schema.FullAttention(bias=False, dropout=fields.fraction("dropout", 0.1)),
        feedforward=schema.FeedForward(
            width=fields.positive_int("d_inner", 4096), activation=fields.activation("ff_activation", "gelu")
        ),
        norm=schema.LayerNorm(placement="post", epsilon=fields.fraction("layer_norm_eps", 1e-12)),
        memory=schema.SegmentRecurrence(fields.non_negative_int("mem_len", 0) or MAX_LENGTH),
    )
    batching = schema.Contiguous(batch_size=8, length=MAX_LENGTH)
    head = schema.LMHead(tied=_OUTPUT not in names, bias="lm_loss.bias" in names)
    return imported_system(batching, schema.TokenInput(), stack, head, schema.PermutationLM())


def _write_config(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    return {
        "architectures": ["XLNetLMHeadModel"],
        "d_model": stack.width,
        "n_layer": stack.depth,
        "n_head": stack.heads,
        "d_head": stack.attention.head_width,
        "d_inner": stack.feedforward.width,
        "ff_activation": HF_ACTIVATIONS[stack.feedforward.activation],
        "layer_norm_eps": stack.norm.epsilon,
        "dropout": stack.dropout,
        "mem_len": stack.memory.length,
        "attn_type": "bi",
        "untie_r": True,
        "initializer_range": stack.init_std,
        "tie_word_embeddings": config.head.tied,
    }


def _attention(ours: str, theirs: str, stack: schema.Transformer) -> list[Conversion]:
    """The attention layer; their matrices are (width, heads, head width)."""
    head_width = stack.attention.head_width
    flat = Reshape((stack.width, stack.heads, head_width), (stack.width, stack.heads * head_width))
    position_encoding = f"{ours}.sublayer.position_encoding"
    parts = tuple(f"{theirs}.{part}" for part in "qkv")
    return [
        Conversion(f"{ours}.sublayer.qkv_proj.weight", parts, (flat, Transpose(), Concatenate(3))),
        *renamed(f"{ours}.sublayer.out_proj.weight", f"{theirs}.o", flat),
        *renamed(f"{position_encoding}.distance.weight", f"{theirs}.r", flat, Transpose()),
        *renamed(f"{position_encoding}.content_bias", f"{theirs}.r_w_bias"),
        *renamed(f"{position_encoding}.distance_bias", f"{theirs}.r_r_bias"),
        *renamed(f"{ours}.sublayer.segment_encoding.bias", f"{theirs}.r_s_bias"),
        *renamed(f"{ours}.sublayer.segment_encoding.weight", f"{theirs}.seg_embed"),
        *layer(f"{ours}.post_norm", f"{theirs}.layer_norm"),
    ]


def _conversions(config: schema.Neural) -> list[Conversion]:
    stack = config.backbone
    conversions = renamed("inputs.text.weight", f"{_PREFIX}word_embedding.weight")
    conversions += renamed(
        "backbone.query_embedding", f"{_PREFIX}mask_emb", Reshape((1, 1, stack.width), (stack.width,))
    )
    for number in range(stack.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_PREFIX}layer.{number}"
        conversions += _attention(f"{ours}.attention", f"{theirs}.rel_attn", stack)
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.ff.layer_1")
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.ff.layer_2")
        conversions += layer(f"{ours}.feedforward.post_norm", f"{theirs}.ff.layer_norm")
    conversions += renamed("head.bias", "lm_loss.bias") if config.head.bias else []
    return conversions if config.head.tied else [*conversions, *renamed("head.weight", _OUTPUT)]


XLNET = ModelFamily(
    model_type="xlnet",
    title="XLNet",
    architectures=("XLNetLMHeadModel",),
    objectives=(schema.PermutationLM,),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: True,
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: f"{_PREFIX}word_embedding.weight"},
)
