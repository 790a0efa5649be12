"""DistilBERT (Sanh et al. 2019): BERT's layers under other names, without segment embeddings."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import ModelFamily, Names, masked_lm, sequence_classification
from firth.interop.tables import bert, task_heads
from firth.interop.tensor_steps import Conversion, concatenated, layer

_PREFIX = "distilbert."
_OUTPUT = "vocab_projector.weight"
_EPSILON = 1e-12  # of all norms


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    stack = schema.Transformer(
        width=fields.positive_int("dim", 768),
        depth=fields.positive_int("n_layers", 6),
        heads=fields.positive_int("n_heads", 12),
        context=fields.positive_int("max_position_embeddings", 512),
        mask="bidirectional",
        dropout=fields.fraction("dropout", 0.1),
        attention=schema.FullAttention(dropout=fields.fraction("attention_dropout", 0.1)),
        feedforward=schema.FeedForward(
            width=fields.positive_int("hidden_dim", 3072), activation=fields.activation("activation", "gelu")
        ),
        norm=schema.LayerNorm(placement="post", embeddings=True, epsilon=_EPSILON),
    )
    if task := task_heads.read_task(fields, names, schema.TokenInput(), stack, "cls-first"):
        return task
    if "pre_classifier.weight" in names:
        return sequence_classification(fields, schema.TokenInput(), stack, schema.ClassificationHead(activation="relu"))
    if "vocab_transform.weight" not in names:
        return masked_lm(schema.TokenInput(), stack, bert.NO_HEAD)
    head = schema.LMHead(tied=_OUTPUT not in names, transform=True, activation=stack.feedforward.activation)
    return masked_lm(schema.TokenInput(), stack, head)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    if isinstance(config.head, schema.ClassificationHead):
        kind = "DistilBertForSequenceClassification"
    elif task := task_heads.task_class(config.head):
        kind = f"DistilBert{task}"
    else:
        kind = "DistilBertForMaskedLM" if config.head.transform else "DistilBertModel"
    return {
        "architectures": [kind],
        "dim": stack.width,
        "n_layers": stack.depth,
        "n_heads": stack.heads,
        "hidden_dim": stack.feedforward.width,
        "activation": HF_ACTIVATIONS[stack.feedforward.activation],
        "max_position_embeddings": stack.context,
        "dropout": stack.dropout,
        "attention_dropout": stack.attention.dropout,
        "initializer_range": stack.init_std,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": config.head.tied,
    }


def _conversions(config: schema.Neural) -> list[Conversion]:
    conversions = bert.embeddings(_PREFIX)
    for number in range(config.backbone.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_PREFIX}transformer.layer.{number}"
        parts = [f"{theirs}.attention.{part}_lin" for part in "qkv"]
        conversions += concatenated(f"{ours}.attention.sublayer.qkv_proj", parts)
        conversions += layer(f"{ours}.attention.sublayer.out_proj", f"{theirs}.attention.out_lin")
        conversions += layer(f"{ours}.attention.post_norm", f"{theirs}.sa_layer_norm")
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.ffn.lin1")
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.ffn.lin2")
        conversions += layer(f"{ours}.feedforward.post_norm", f"{theirs}.output_layer_norm")
    if isinstance(config.head, schema.ClassificationHead):
        return [*conversions, *bert.classifier("pre_classifier", "classifier")]
    if task_heads.task_class(config.head):
        return [*conversions, *task_heads.task_conversions(config)]
    return conversions + bert.lm_head(
        config.head, "vocab_transform", "vocab_layer_norm", "vocab_projector.bias", _OUTPUT
    )


def _is_default(config: schema.Neural) -> bool:
    if isinstance(config.head, schema.ClassificationHead):
        return config.head.activation == "relu" and config.backbone.mask == "bidirectional"
    if task_heads.task_class(config.head):
        return False  # BERT represents the same models
    return config.inputs["text"].segments == 0


DISTILBERT = ModelFamily(
    model_type="distilbert",
    title="DistilBERT",
    architectures=(
        "DistilBertForMaskedLM",
        "DistilBertForSequenceClassification",
        "DistilBertForQuestionAnswering",
        "DistilBertForTokenClassification",
        "DistilBertModel",
    ),
    objectives=(schema.MaskedLM, schema.Distillation, schema.Supervised),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=_is_default,
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: f"{_PREFIX}embeddings.word_embeddings.weight"},
    ignored_keys=bert.BUFFERS,
)
