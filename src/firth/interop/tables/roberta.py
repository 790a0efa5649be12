"""RoBERTa (Liu et al. 2019): BERT's encoder; position ids start after the padding token's id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.interop.config_fields import Fields
from firth.interop.model_family import ModelFamily, Names, masked_lm, sequence_classification
from firth.interop.tables import bert, task_heads
from firth.interop.tensor_steps import Conversion, ZeroFilled

_OUTPUT = "lm_head.decoder.weight"
_CLASSIFIER = "classifier.out_proj.weight"


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    inputs = schema.TokenInput(segments=fields.positive_int("type_vocab_size", 2))
    stack = replace(bert.backbone(fields), context=bert.context_after_padding(fields))
    if task := task_heads.read_task(fields, names, inputs, stack, "double-sep"):
        return task
    if _CLASSIFIER in names:
        return sequence_classification(fields, inputs, stack, schema.ClassificationHead(), "double-sep")
    if "lm_head.dense.weight" not in names:
        return masked_lm(inputs, stack, bert.NO_HEAD)
    head = schema.LMHead(tied=_OUTPUT not in names, transform=True, norm_epsilon=stack.norm.epsilon)
    return masked_lm(inputs, stack, head)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    if isinstance(config.head, schema.ClassificationHead):
        return {"architectures": ["RobertaForSequenceClassification"], **bert.sizes(config)}
    if kind := task_heads.task_class(config.head):
        return {"architectures": [f"Roberta{kind}"], **bert.sizes(config)}
    kind = "RobertaForMaskedLM" if config.head.transform else "RobertaModel"
    return {"architectures": [kind], **bert.sizes(config)}


def _conversions(config: schema.Neural) -> list[Conversion | ZeroFilled]:
    conversions = [*bert.embeddings("roberta."), *bert.segments("roberta.", config.inputs["text"].segments)]
    conversions += bert.blocks("roberta.", config.backbone.depth)
    if isinstance(config.head, schema.ClassificationHead):
        return [*conversions, *bert.classifier("classifier.dense", "classifier.out_proj")]
    if task_heads.task_class(config.head):
        return [*conversions, *task_heads.task_conversions(config, "roberta.pooler.dense")]
    return conversions + bert.lm_head(config.head, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", _OUTPUT)


ROBERTA = ModelFamily(
    model_type="roberta",
    title="RoBERTa",
    architectures=(
        "RobertaForMaskedLM",
        "RobertaForSequenceClassification",
        "RobertaForQuestionAnswering",
        "RobertaForTokenClassification",
        "RobertaForMultipleChoice",
        "RobertaModel",
    ),
    objectives=(schema.MaskedLM, schema.Supervised),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: False,  # BERT represents the same models
    base_model_prefix="roberta.",
    output_weight=_OUTPUT,
    offset_positions="roberta.embeddings.position_embeddings.weight",
    tied_weights={_OUTPUT: "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"},
    ignored_keys=(*bert.BUFFERS, r"roberta\.pooler\..*"),
)
