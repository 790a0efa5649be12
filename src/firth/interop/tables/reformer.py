"""Reformer (Kitaev et al. 2020): local and hashed attention, reversible layers, places as rows and columns."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Blank, Shape, Step, joined, layer, same
from firth.interop.table import Names, Table, causal

_BODY = "reformer."
_OUTPUT = "lm_head.decoder.weight"
_LONG = 4096
_PARTS = {"lsh": ("query_key", "value"), "local": ("query", "key", "value")}


def _near(fields: Fields, kind: str) -> dict[str, int]:
    """Sizes of the chunks that a kind of layer looks at."""
    sides = {side: fields.count(f"{kind}_num_chunks_{side}", usual) for side, usual in (("before", 1), ("after", 0))}
    return {"chunk": fields.whole(f"{kind}_attn_chunk_length", 64), **sides}


def _kinds(fields: Fields) -> tuple[str, ...]:
    """What each layer looks at."""
    kinds = fields.get("attn_layers", ["local", "lsh", "local", "lsh", "local", "lsh"])
    if not isinstance(kinds, list) or not kinds or not all(kind in _PARTS for kind in kinds):
        raise FirthError(f"attn_layers = {str(kinds)[:40]}: firth reads local and lsh", where=fields.where)
    return tuple(kinds)


def _places(fields: Fields, width: int) -> schema.Axial:
    (rows, columns), parts = (
        fields.sizes("axial_pos_shape", (64, 64), 2),
        fields.sizes("axial_pos_embds_dim", (64, 192), 2),
    )
    if sum(parts) != width:
        what = f"axial_pos_embds_dim = {list(parts)}: not together hidden_size = {width}"
        raise FirthError(what, where=fields.where)
    return schema.Axial(rows=rows, columns=columns, width=parts[0])


def _read(fields: Fields, names: Names) -> schema.Neural:
    fields.only("axial_pos_embds", True)
    fields.only("is_decoder", True)
    kinds, width = _kinds(fields), fields.whole("hidden_size", 256)
    axial, buckets = _places(fields, width), fields.sizes("num_buckets", ())
    hashing = schema.LSH(rounds=fields.whole("num_hashes", 1), buckets=buckets, across=True, **_near(fields, "lsh"))
    stack = schema.Transformer(
        width=width,
        depth=len(kinds),
        heads=fields.whole("num_attention_heads", 12),
        head_width=fields.whole("attention_head_size", 64),
        inner=fields.whole("feed_forward_size", 512),
        activation=fields.activation("hidden_act", "relu"),
        epsilon=fields.number("layer_norm_eps", 1e-12),
        positions="axial",
        axial=axial,
        context=axial.rows * axial.columns,
        attends=kinds,
        local=schema.Local(**_near(fields, "local")),
        lsh=hashing,
        residual="reversible",
        attention_bias=False,
        dropout=fields.number("hidden_dropout_prob", 0.05),
        attention_dropout=fields.number("lsh_attention_probs_dropout_prob", 0.0),
    )
    return causal(schema.TokenInput(), stack, schema.LanguageHead(tied=False, bias=False), _LONG)


def _write(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    axial, buckets = stack.axial, list(stack.lsh.buckets)
    found = {
        "architectures": ["ReformerModelWithLMHead"],
        "hidden_size": stack.width,
        "num_attention_heads": stack.heads,
        "attention_head_size": stack.head_width,
        "feed_forward_size": stack.inner,
        "hidden_act": CALLED[stack.activation],
        "layer_norm_eps": stack.epsilon,
        "axial_pos_embds": True,
        "axial_pos_shape": [axial.rows, axial.columns],
        "axial_pos_embds_dim": [axial.width, stack.width - axial.width],
        "max_position_embeddings": stack.context,
        "attn_layers": [stack.attends[number % len(stack.attends)] for number in range(stack.depth)],
        "num_hidden_layers": stack.depth,
        "num_hashes": stack.lsh.rounds,
        "num_buckets": buckets[0] if len(buckets) == 1 else buckets or None,
        "is_decoder": True,
        "hidden_dropout_prob": stack.dropout,
        "lsh_attention_probs_dropout_prob": stack.attention_dropout,
        "local_attention_probs_dropout_prob": stack.attention_dropout,
        "initializer_range": stack.spread,
        "tie_word_embeddings": False,
    }
    for kind, near in (("lsh", stack.lsh), ("local", stack.local)):
        found |= {f"{kind}_attn_chunk_length": near.chunk}
        found |= {f"{kind}_num_chunks_before": near.before, f"{kind}_num_chunks_after": near.after}
    return found


def _steps(config: schema.Neural) -> list[Step | Blank]:
    stack = config.backbone
    axial, places = stack.axial, f"{_BODY}embeddings.position_embeddings.weights"
    first, second = axial.width, stack.width - axial.width
    found: list[Step | Blank] = [
        *same("input.weight", f"{_BODY}embeddings.word_embeddings.weight"),
        *same("backbone.positions.rows_weight", f"{places}.0", Shape((-1, 1, first), (-1, first))),
        *same(
            "backbone.positions.columns_weight",
            f"{places}.1",
            Shape((1, axial.columns, second), (axial.columns, second)),
        ),
    ]
    for number in range(stack.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_BODY}encoder.layers.{number}"
        parts = _PARTS[stack.attends[number % len(stack.attends)]]
        names = [f"{theirs}.attention.self_attention.{part}" for part in parts]
        found += joined(f"{ours}.attention.inner.inputs", names, bias=False)
        found += layer(f"{ours}.attention.inner.output", f"{theirs}.attention.output.dense", bias=False)
        found += layer(f"{ours}.attention.before", f"{theirs}.attention.layer_norm")
        found += layer(f"{ours}.feedforward.before", f"{theirs}.feed_forward.layer_norm")
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.feed_forward.dense.dense")
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.feed_forward.output.dense")
    found += layer("backbone.norm", f"{_BODY}encoder.layer_norm")
    bias = Blank("lm_head.bias", lambda ours: (len(ours["input.weight"]),))  # which nothing reads
    return [*found, *same("head.weight", _OUTPUT), bias]


REFORMER = Table(
    model="reformer",
    title="Reformer",
    objectives=(schema.Causal,),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: config.backbone.residual == "reversible",
    body=_BODY,
)
