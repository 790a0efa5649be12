"""XLNet (Yang et al. 2019): relative places and segments, two streams, memory."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Shape, Stack, Step, Turn, layer, same
from firth.interop.table import LENGTH, Names, Table, neural

_BODY = "transformer."
_OUTPUT = "lm_loss.weight"


def _read(fields: Fields, names: Names) -> schema.Neural:
    fields.only("attn_type", "bi")
    fields.only("untie_r", True)
    fields.only("clamp_len", -1)
    for name in ("bi_data", "same_length"):
        fields.only(name, False)
    stack = schema.Transformer(
        width=fields.whole("d_model", 1024),
        depth=fields.whole("n_layer", 24),
        heads=fields.whole("n_head", 16),
        inner=fields.whole("d_inner", 4096),
        activation=fields.activation("ff_activation", "gelu"),
        norm_at="post",
        epsilon=fields.number("layer_norm_eps", 1e-12),
        positions="xl",
        sees="permuted",
        memory=fields.count("mem_len", 0) or LENGTH,
        relative_segments=True,
        attention_bias=False,
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("dropout", 0.1),
    )
    rows = schema.Contiguous(rows=8, length=LENGTH)
    head = schema.LanguageHead(tied=_OUTPUT not in names, bias="lm_loss.bias" in names)
    return neural(rows, schema.TokenInput(), stack, head, schema.Permuted())


def _write(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    return {
        "architectures": ["XLNetLMHeadModel"],
        "d_model": stack.width,
        "n_layer": stack.depth,
        "n_head": stack.heads,
        "d_head": stack.head_width,
        "d_inner": stack.inner,
        "ff_activation": CALLED[stack.activation],
        "layer_norm_eps": stack.epsilon,
        "dropout": stack.dropout,
        "mem_len": stack.memory,
        "attn_type": "bi",
        "untie_r": True,
        "initializer_range": stack.spread,
        "tie_word_embeddings": config.head.tied,
    }


def _attention(ours: str, theirs: str, stack: schema.Transformer) -> list[Step]:
    """Their matrices are (width, heads, head width)."""
    joined = stack.heads * stack.head_width
    flat = Shape((stack.width, stack.heads, stack.head_width), (stack.width, joined))
    relation = f"{ours}.inner.relation"
    parts = tuple(f"{theirs}.{part}" for part in "qkv")
    return [
        Step(f"{ours}.inner.inputs.weight", parts, (flat, Turn(), Stack(3))),
        *same(f"{ours}.inner.output.weight", f"{theirs}.o", flat),
        *same(f"{relation}.distance.weight", f"{theirs}.r", flat, Turn()),
        *same(f"{relation}.content_bias", f"{theirs}.r_w_bias"),
        *same(f"{relation}.distance_bias", f"{theirs}.r_r_bias"),
        *same(f"{ours}.inner.kinds.bias", f"{theirs}.r_s_bias"),
        *same(f"{ours}.inner.kinds.weight", f"{theirs}.seg_embed"),
        *layer(f"{ours}.sum", f"{theirs}.layer_norm"),
    ]


def _steps(config: schema.Neural) -> list[Step]:
    stack = config.backbone
    found = same("input.weight", f"{_BODY}word_embedding.weight")
    found += same("backbone.query", f"{_BODY}mask_emb", Shape((1, 1, stack.width), (stack.width,)))
    for number in range(stack.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_BODY}layer.{number}"
        found += _attention(f"{ours}.attention", f"{theirs}.rel_attn", stack)
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.ff.layer_1")
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.ff.layer_2")
        found += layer(f"{ours}.feedforward.sum", f"{theirs}.ff.layer_norm")
    found += same("head.bias", "lm_loss.bias") if config.head.bias else []
    return found if config.head.tied else [*found, *same("head.weight", _OUTPUT)]


XLNET = Table(
    model="xlnet",
    title="XLNet",
    objectives=(schema.Permuted,),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: True,
    body=_BODY,
    output=_OUTPUT,
    tied={_OUTPUT: f"{_BODY}word_embedding.weight"},
)
