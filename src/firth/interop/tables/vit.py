"""ViT (Dosovitskiy et al. 2021) that labels pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Shape, Step, joined, layer, same
from firth.interop.table import Names, Table, neural

_BODY = "vit."
_EMBEDDINGS = f"{_BODY}embeddings."
_HEAD = schema.ClassHead(pool="first", layer=False, dropout=0.0)


def _read(fields: Fields, names: Names) -> schema.Neural:
    fields.only("qkv_bias", True)
    if "classifier.weight" not in names:
        do = "save it as a ViTForImageClassification"
        raise FirthError("a ViT without a classifier, which firth does not read", where=fields.where, do=do)
    given = schema.PatchInput(
        size=fields.whole("image_size", 224),
        patch=fields.whole("patch_size", 16),
        channels=fields.whole("num_channels", 3),
    )
    stack = schema.Transformer(
        width=fields.whole("hidden_size", 768),
        depth=fields.whole("num_hidden_layers", 12),
        heads=fields.whole("num_attention_heads", 12),
        inner=fields.whole("intermediate_size", 3072),
        activation=fields.activation("hidden_act", "gelu"),
        epsilon=fields.number("layer_norm_eps", 1e-12),
        sees="all",
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
    )
    found = neural(schema.Pictured(), given, stack, _HEAD, schema.Supervised())
    return replace(found, data=schema.Pictures(text=()), tokenizer=schema.NoTokenizer())


def _write(config: schema.Neural) -> dict[str, Any]:
    stack, given = config.backbone, config.input
    if stack.context != given.places:
        what = f"ViT has no backbone.context = {stack.context} for pictures of {given.places} places"
        raise FirthError(what, do="train with backbone.context=0")
    return {
        "architectures": ["ViTForImageClassification"],
        "hidden_size": stack.width,
        "num_hidden_layers": stack.depth,
        "num_attention_heads": stack.heads,
        "intermediate_size": stack.inner,
        "hidden_act": CALLED[stack.activation],
        "layer_norm_eps": stack.epsilon,
        "hidden_dropout_prob": stack.dropout,
        "attention_probs_dropout_prob": stack.attention_dropout,
        "initializer_range": stack.spread,
        "image_size": given.size,
        "patch_size": given.patch,
        "num_channels": given.channels,
        "qkv_bias": True,
    }


def _steps(config: schema.Neural) -> list[Step]:
    given, width = config.input, config.backbone.width
    patch = (given.channels, given.patch, given.patch)
    product = f"{_EMBEDDINGS}patch_embeddings.projection"
    found = [
        *layer("input.product", product, Shape((width, *patch), (width, -1))),
        *same("input.whole", f"{_EMBEDDINGS}cls_token", Shape((1, 1, width), (width,))),
        *same("backbone.positions.weight", f"{_EMBEDDINGS}position_embeddings", Shape((1, -1, width), (-1, width))),
    ]
    for number in range(config.backbone.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_BODY}encoder.layer.{number}"
        parts = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        found += joined(f"{ours}.attention.inner.inputs", parts)
        found += layer(f"{ours}.attention.inner.output", f"{theirs}.attention.output.dense")
        found += layer(f"{ours}.attention.before", f"{theirs}.layernorm_before")
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.intermediate.dense")
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.output.dense")
        found += layer(f"{ours}.feedforward.before", f"{theirs}.layernorm_after")
    return [*found, *layer("backbone.norm", f"{_BODY}layernorm"), *layer("head.classify", "classifier")]


VIT = Table(
    model="vit",
    title="ViT",
    objectives=(schema.Supervised,),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: True,
    input=schema.PatchInput,
    body=_BODY,
)
