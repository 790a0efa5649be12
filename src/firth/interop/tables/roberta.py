"""RoBERTa (Liu et al. 2019): BERT's stack; places are counted from 2 on, and the head has names of its own."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import Fields
from firth.interop.steps import Blank, Drop, Step
from firth.interop.table import Names, Table, masked
from firth.interop.tables import bert

_FIRST = 2  # the place of a row's first token; before it stands that of padding
_OUTPUT = "lm_head.decoder.weight"


def _read(fields: Fields, names: Names) -> schema.Neural:
    fields.only("pad_token_id", 1)  # places are counted from the one after it
    given = schema.TokenInput(segments=fields.whole("type_vocab_size", 2))
    stack = bert.backbone(fields, context=fields.whole("max_position_embeddings", 512) - _FIRST)
    if "lm_head.dense.weight" not in names:
        return masked(given, stack, bert.NO_HEAD)
    head = schema.LanguageHead(tied=_OUTPUT not in names, transform=True, epsilon=stack.epsilon)
    return masked(given, stack, head)


def _write(config: schema.Neural) -> dict[str, Any]:
    kind = "RobertaForMaskedLM" if config.head.transform else "RobertaModel"
    return {"architectures": [kind], **bert.sizes(config, places=_FIRST)}


def _steps(config: schema.Neural) -> list[Step | Blank]:
    found = [*bert.embeddings("roberta.", Drop(_FIRST)), *bert.segments("roberta.", config.input.segments)]
    found += bert.blocks("roberta.", config.backbone.depth)
    return found + bert.head(config.head, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", _OUTPUT)


ROBERTA = Table(
    model="roberta",
    title="RoBERTa",
    objectives=(schema.Masked,),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: False,  # BERT fits as well
    body="roberta.",
    output=_OUTPUT,
    tied={_OUTPUT: "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"},
    ignored=(*bert.BUFFERS, r"roberta\.pooler\..*"),
)
