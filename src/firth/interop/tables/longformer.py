"""Longformer (Beltagy et al. 2020): RoBERTa whose tokens see those near them, and some that see all by layers of
their own."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import Fields
from firth.interop.steps import Blank, Step, joined
from firth.interop.table import Names, Table, masked
from firth.interop.tables import bert

_BODY = "longformer."
_OUTPUT = "lm_head.decoder.weight"
_LONG = 4096


def _window(fields: Fields) -> int:
    """Tokens seen on each side; their field counts both, for each layer."""
    said = fields.sizes("attention_window", (512,))
    if len({*said}) != 1 or said[0] % 2:
        what = f"attention_window = {str(list(said))[:40]}: firth reads one even number for all layers"
        raise FirthError(what, where=fields.where)
    return said[0] // 2


def _read(fields: Fields, names: Names) -> schema.Neural:
    context = bert.places_after_padding(fields)
    own = {"window": _window(fields), "central_projections": True, "kernel": "banded", "context": context}
    stack = bert.backbone(fields, **own)
    given = schema.TokenInput(segments=fields.whole("type_vocab_size", 2))
    if "lm_head.dense.weight" not in names:
        return masked(given, stack, bert.NO_HEAD, _LONG)
    head = schema.LanguageHead(tied=_OUTPUT not in names, transform=True, epsilon=stack.epsilon)
    return masked(given, stack, head, _LONG)


def _write(config: schema.Neural) -> dict[str, Any]:
    kind = "LongformerForMaskedLM" if config.head.transform else "LongformerModel"
    window = {"attention_window": [2 * config.backbone.window] * config.backbone.depth}
    return {"architectures": [kind], **bert.sizes(config), **window}


def _steps(config: schema.Neural) -> list[Step | Blank]:
    found = [*bert.embeddings(_BODY), *bert.segments(_BODY, config.input.segments)]
    found += bert.blocks(_BODY, config.backbone.depth)
    for number in range(config.backbone.depth):
        theirs = f"{_BODY}encoder.layer.{number}.attention.self"
        parts = [f"{theirs}.{part}_global" for part in ("query", "key", "value")]
        found += joined(f"backbone.blocks.{number}.attention.inner.central.inputs", parts)
    return found + bert.head(config.head, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", _OUTPUT)


LONGFORMER = Table(
    model="longformer",
    title="Longformer",
    objectives=(schema.Masked,),
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: config.backbone.window > 0,
    body=_BODY,
    output=_OUTPUT,
    counted=f"{_BODY}embeddings.position_embeddings.weight",
    tied={_OUTPUT: f"{_BODY}embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"},
    ignored=(*bert.BUFFERS, r"longformer\.pooler\..*"),
)
