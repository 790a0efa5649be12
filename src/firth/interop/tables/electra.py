"""ELECTRA (Clark et al. 2020): BERT's stack over narrower vectors; one fills gaps, one tells what was put into them."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import Fields
from firth.interop.steps import Blank, Step, layer
from firth.interop.table import Names, Table, framed, labelling, masked, neural
from firth.interop.tables import bert

_BODY = "electra."
_OUTPUT = "generator_lm_head.weight"
_TELLS = "discriminator_predictions."
_LABELS = "classifier.out_proj.weight"


def _read(fields: Fields, names: Names) -> schema.Neural:
    stack = bert.backbone(fields)
    given = schema.TokenInput(width=fields.whole("embedding_size", 128), segments=fields.whole("type_vocab_size", 2))
    if _LABELS in names:
        return labelling(given, stack, schema.ClassHead(activation="gelu"))
    if f"{_TELLS}dense.weight" in names:
        fields.only("hidden_act", "gelu")
        objective = schema.Replaced(hidden=1.0, random=0.0)
        return neural(framed(stack), given, stack, schema.DetectionHead(), objective)
    if "generator_predictions.dense.weight" not in names:
        return masked(given, stack, bert.NO_HEAD)
    head = schema.LanguageHead(tied=_OUTPUT not in names, transform=True, epsilon=stack.epsilon)
    return masked(given, stack, head)


def _write(config: schema.Neural) -> dict[str, Any]:
    kind = "ElectraForPreTraining"
    if isinstance(config.head, schema.ClassHead):
        kind = "ElectraForSequenceClassification"
    if isinstance(config.head, schema.LanguageHead):
        kind = "ElectraForMaskedLM" if config.head.transform else "ElectraModel"
    return {"architectures": [kind], **bert.sizes(config), "embedding_size": config.input.width}


def _steps(config: schema.Neural) -> list[Step | Blank]:
    found = [*bert.embeddings(_BODY), *bert.segments(_BODY, config.input.segments)]
    if config.input.width != config.backbone.width:
        found += layer("backbone.widen", f"{_BODY}embeddings_project")
    found += bert.blocks(_BODY, config.backbone.depth)
    if isinstance(config.head, schema.ClassHead):
        return [*found, *bert.classifier("classifier.dense", "classifier.out_proj")]
    if isinstance(config.head, schema.DetectionHead):
        return [*found, *layer("head.dense", f"{_TELLS}dense"), *layer("head.classify", f"{_TELLS}dense_prediction")]
    parts = ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias", _OUTPUT)
    return found + bert.head(config.head, *parts)


def _fits(config: schema.Neural) -> bool:
    narrow = config.input.width != config.backbone.width
    if isinstance(config.head, schema.ClassHead):
        return config.backbone.sees == "all" and (narrow or config.head.activation == "gelu")
    return narrow or isinstance(config.objective, schema.Replaced)


ELECTRA = Table(
    model="electra",
    title="ELECTRA",
    objectives=(schema.Masked, schema.Replaced, schema.Supervised),
    read=_read,
    write=_write,
    steps=_steps,
    fits=_fits,
    body=_BODY,
    output=_OUTPUT,
    tied={_OUTPUT: f"{_BODY}embeddings.word_embeddings.weight"},
    ignored=bert.BUFFERS,
)
