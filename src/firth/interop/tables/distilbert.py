"""DistilBERT (Sanh et al. 2019): BERT's layers under other names, without segments."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Step, joined, layer
from firth.interop.table import Names, Table, labelling, masked
from firth.interop.tables import bert

_BODY = "distilbert."
_OUTPUT = "vocab_projector.weight"
_EPSILON = 1e-12  # of all norms


def _read(fields: Fields, names: Names) -> schema.Neural:
    stack = schema.Transformer(
        width=fields.whole("dim", 768),
        depth=fields.whole("n_layers", 6),
        heads=fields.whole("n_heads", 12),
        inner=fields.whole("hidden_dim", 3072),
        activation=fields.activation("activation", "gelu"),
        norm_at="post",
        norm_input=True,
        epsilon=_EPSILON,
        context=fields.whole("max_position_embeddings", 512),
        sees="all",
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.1),
    )
    if "pre_classifier.weight" in names:
        return labelling(schema.TokenInput(), stack, schema.ClassHead(activation="relu"))
    if "vocab_transform.weight" not in names:
        return masked(schema.TokenInput(), stack, bert.NO_HEAD)
    head = schema.LanguageHead(tied=_OUTPUT not in names, transform=True, activation=stack.activation)
    return masked(schema.TokenInput(), stack, head)


def _write(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    if isinstance(config.head, schema.ClassHead):
        kind = "DistilBertForSequenceClassification"
    else:
        kind = "DistilBertForMaskedLM" if config.head.transform else "DistilBertModel"
    return {
        "architectures": [kind],
        "dim": stack.width,
        "n_layers": stack.depth,
        "n_heads": stack.heads,
        "hidden_dim": stack.inner,
        "activation": CALLED[stack.activation],
        "max_position_embeddings": stack.context,
        "dropout": stack.dropout,
        "attention_dropout": stack.attention_dropout,
        "initializer_range": stack.spread,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": getattr(config.head, "tied", True),
    }


def _steps(config: schema.Neural) -> list[Step]:
    found = bert.embeddings(_BODY)
    for number in range(config.backbone.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_BODY}transformer.layer.{number}"
        parts = [f"{theirs}.attention.{part}_lin" for part in "qkv"]
        found += joined(f"{ours}.attention.inner.inputs", parts)
        found += layer(f"{ours}.attention.inner.output", f"{theirs}.attention.out_lin")
        found += layer(f"{ours}.attention.sum", f"{theirs}.sa_layer_norm")
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.ffn.lin1")
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.ffn.lin2")
        found += layer(f"{ours}.feedforward.sum", f"{theirs}.output_layer_norm")
    if isinstance(config.head, schema.ClassHead):
        return [*found, *bert.classifier("pre_classifier", "classifier")]
    return found + bert.head(config.head, "vocab_transform", "vocab_layer_norm", "vocab_projector.bias", _OUTPUT)


def _fits(config: schema.Neural) -> bool:
    if isinstance(config.head, schema.ClassHead):
        return config.head.activation == "relu" and config.backbone.sees == "all"
    return config.input.segments == 0


DISTILBERT = Table(
    model="distilbert",
    title="DistilBERT",
    objectives=(schema.Masked, schema.Distil, schema.Supervised),
    read=_read,
    write=_write,
    steps=_steps,
    fits=_fits,
    body=_BODY,
    output=_OUTPUT,
    tied={_OUTPUT: f"{_BODY}embeddings.word_embeddings.weight"},
    ignored=bert.BUFFERS,
)
