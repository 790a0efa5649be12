"""ELECTRA (Clark et al. 2020), generator or discriminator: BERT's encoder over narrower embeddings."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.config_fields import Fields
from firth.interop.model_family import (
    ModelFamily,
    Names,
    imported_system,
    masked_lm,
    segment_batching,
    sequence_classification,
)
from firth.interop.tables import bert, task_heads
from firth.interop.tensor_steps import Conversion, ZeroFilled, layer

_PREFIX = "electra."
_OUTPUT = "generator_lm_head.weight"
_DISCRIMINATOR = "discriminator_predictions."
_CLASSIFIER = "classifier.out_proj.weight"


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    stack = bert.backbone(fields)
    inputs = schema.TokenInput(
        width=fields.positive_int("embedding_size", 128), segments=fields.positive_int("type_vocab_size", 2)
    )
    if task := task_heads.read_task(fields, names, inputs, stack, "cls-first"):
        return task
    if _CLASSIFIER in names:
        return sequence_classification(fields, inputs, stack, schema.ClassificationHead(activation="gelu"))
    if f"{_DISCRIMINATOR}dense.weight" in names:
        fields.require("hidden_act", "gelu")
        objective = schema.ReplacedTokenDetection(mask_token_fraction=1.0, random_token_fraction=0.0)
        return imported_system(segment_batching(stack), inputs, stack, schema.DiscriminatorHead(), objective)
    if "generator_predictions.dense.weight" not in names:
        return masked_lm(inputs, stack, bert.NO_HEAD)
    head = schema.LMHead(tied=_OUTPUT not in names, transform=True, norm_epsilon=stack.norm.epsilon)
    return masked_lm(inputs, stack, head)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    kind = "ElectraForPreTraining"
    if isinstance(config.head, schema.ClassificationHead):
        kind = "ElectraForSequenceClassification"
    if task := task_heads.task_class(config.head):
        kind = f"Electra{task}"
    if isinstance(config.head, schema.LMHead):
        kind = "ElectraForMaskedLM" if config.head.transform else "ElectraModel"
    return {"architectures": [kind], **bert.sizes(config), "embedding_size": config.inputs["text"].width}


def _conversions(config: schema.Neural) -> list[Conversion | ZeroFilled]:
    conversions = [*bert.embeddings(_PREFIX), *bert.segments(_PREFIX, config.inputs["text"].segments)]
    if config.inputs["text"].width != config.backbone.width:
        conversions += layer("backbone.embedding_proj", f"{_PREFIX}embeddings_project")
    conversions += bert.blocks(_PREFIX, config.backbone.depth)
    if isinstance(config.head, schema.ClassificationHead):
        return [*conversions, *bert.classifier("classifier.dense", "classifier.out_proj")]
    if task_heads.task_class(config.head):
        return [*conversions, *task_heads.task_conversions(config)]
    if isinstance(config.head, schema.DiscriminatorHead):
        return [
            *conversions,
            *layer("head.dense", f"{_DISCRIMINATOR}dense"),
            *layer("head.classifier", f"{_DISCRIMINATOR}dense_prediction"),
        ]
    parts = ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias", _OUTPUT)
    return conversions + bert.lm_head(config.head, *parts)


def _is_default(config: schema.Neural) -> bool:
    narrow = config.inputs["text"].width != config.backbone.width
    if isinstance(config.head, schema.ClassificationHead):
        return config.backbone.mask == "bidirectional" and (narrow or config.head.activation == "gelu")
    return narrow or isinstance(config.objective, schema.ReplacedTokenDetection)


ELECTRA = ModelFamily(
    model_type="electra",
    title="ELECTRA",
    architectures=(
        "ElectraForMaskedLM",
        "ElectraForPreTraining",
        "ElectraForSequenceClassification",
        "ElectraForQuestionAnswering",
        "ElectraForTokenClassification",
        "ElectraModel",
    ),
    objectives=(schema.MaskedLM, schema.ReplacedTokenDetection, schema.Supervised),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=_is_default,
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: f"{_PREFIX}embeddings.word_embeddings.weight"},
    ignored_keys=bert.BUFFERS,
)
