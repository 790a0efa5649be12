"""RoBERTa (Liu et al. 2019): BERT's stack; places are counted from padding's number on, the head has other names."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import Fields
from firth.interop.steps import Blank, Step
from firth.interop.table import Names, Table, labelling, masked
from firth.interop.tables import bert

_OUTPUT = "lm_head.decoder.weight"
_LABELS = "classifier.out_proj.weight"


def _read(fields: Fields, names: Names) -> schema.Neural:
    given = schema.TokenInput(segments=fields.whole("type_vocab_size", 2))
    stack = bert.backbone(fields, context=bert.places_after_padding(fields))
    if _LABELS in names:
        return labelling(given, stack, schema.ClassHead())
    if "lm_head.dense.weight" not in names:
        return masked(given, stack, bert.NO_HEAD)
    head = schema.LanguageHead(tied=_OUTPUT not in names, transform=True, epsilon=stack.epsilon)
    return masked(given, stack, head)


def _write(config: schema.Neural) -> dict[str, Any]:
    if isinstance(config.head, schema.ClassHead):
        return {"architectures": ["RobertaForSequenceClassification"], **bert.sizes(config)}
    kind = "RobertaForMaskedLM" if config.head.transform else "RobertaModel"
    return {"architectures": [kind], **bert.sizes(config)}


def _steps(config: schema.Neural) -> list[Step | Blank]:
    found = [*bert.embeddings("roberta."), *bert.segments("roberta.", config.input.segments)]
    found += bert.blocks("roberta.", config.backbone.depth)
    if isinstance(config.head, schema.ClassHead):
        return [*found, *bert.classifier("classifier.dense", "classifier.out_proj")]
    return found + bert.head(config.head, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", _OUTPUT)


ROBERTA = Table(
    model="roberta",
    title="RoBERTa",
    objectives=(schema.Masked, schema.Supervised),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: False,  # BERT fits as well
    body="roberta.",
    output=_OUTPUT,
    counted="roberta.embeddings.position_embeddings.weight",
    tied={_OUTPUT: "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"},
    ignored=(*bert.BUFFERS, r"roberta\.pooler\..*"),
)
