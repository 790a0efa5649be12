"""GPT-1 (Radford et al. 2018) and GPT-2 (Radford et al. 2019): one stack, with the norms after or before its parts."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Step, Turn, layer, same
from firth.interop.table import Names, Table, causal, labelling

_BODY = "transformer."
_OUTPUT = "lm_head.weight"
_LABELS = "score.weight"
_CLASSES = schema.ClassHead(pool="last", layer=False, bias=False)
# GPT-1's field says gelu and means its approximation by a tangent.
_BENDS = {"gelu": "gelu-tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
_BENT = {"gelu-tanh": "gelu", "relu": "relu", "silu": "silu"}


def _backbone(fields: Fields, activation: str, **change: Any) -> schema.Transformer:
    return schema.Transformer(
        width=fields.whole("n_embd", 768),
        depth=fields.whole("n_layer", 12),
        heads=fields.whole("n_head", 12),
        activation=activation,
        epsilon=fields.number("layer_norm_epsilon", 1e-5),
        context=fields.whole("n_positions", 1024),
        dropout=fields.number("resid_pdrop", 0.1),
        attention_dropout=fields.number("attn_pdrop", 0.1),
        **change,
    )


def _sizes(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    return {
        "n_embd": stack.width,
        "n_layer": stack.depth,
        "n_head": stack.heads,
        "n_positions": stack.context,
        "layer_norm_epsilon": stack.epsilon,
        "resid_pdrop": stack.dropout,
        "embd_pdrop": stack.dropout,
        "attn_pdrop": stack.attention_dropout,
        "initializer_range": stack.spread,
        "tie_word_embeddings": getattr(config.head, "tied", True),
    }


def _head(names: Names) -> schema.LanguageHead:
    return schema.LanguageHead(tied=_OUTPUT not in names, bias=False)


def _read_2(fields: Fields, names: Names) -> schema.Neural:
    for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        fields.only(name, False)
    scaled = fields.flag("scale_attn_weights", True)
    inner = fields.whole("n_inner", 0) if "n_inner" in fields else 0
    stack = _backbone(fields, fields.activation("activation_function", "gelu_new"), inner=inner, scaled=scaled)
    if _LABELS in names:
        return labelling(schema.TokenInput(), stack, _CLASSES, "last")
    return causal(schema.TokenInput(), stack, _head(names))


def _write_2(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    own = {"activation_function": CALLED[stack.activation], "n_inner": stack.inner, "scale_attn_weights": stack.scaled}
    kind = "GPT2ForSequenceClassification" if isinstance(config.head, schema.ClassHead) else "GPT2LMHeadModel"
    return {"architectures": [kind], **_sizes(config), **own}


def _read_1(fields: Fields, names: Names) -> schema.Neural:
    bent = fields.get("afn", "gelu")
    fields.only("afn", *_BENDS)
    return causal(schema.TokenInput(), _backbone(fields, _BENDS[bent], norm_at="post"), _head(names))


def _write_1(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    if stack.activation not in _BENT:
        do = f"it has {', '.join(_BENT)}"
        raise FirthError(f"GPT-1 has no backbone.activation = {stack.activation}", do=do)
    own = {"afn": _BENT[stack.activation], "summary_type": "cls_index"}
    return {"architectures": ["OpenAIGPTLMHeadModel"], **_sizes(config), **own}


def _blocks(depth: int, norm: str) -> list[Step]:
    """The layers; matrices are kept as (in, out)."""
    found: list[Step] = []
    for number in range(depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_BODY}h.{number}"
        found += layer(f"{ours}.attention.inner.inputs", f"{theirs}.attn.c_attn", Turn())
        found += layer(f"{ours}.attention.inner.output", f"{theirs}.attn.c_proj", Turn())
        found += layer(f"{ours}.attention.{norm}", f"{theirs}.ln_1")
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.mlp.c_fc", Turn())
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.mlp.c_proj", Turn())
        found += layer(f"{ours}.feedforward.{norm}", f"{theirs}.ln_2")
    return found


def _untied(config: schema.Neural) -> list[Step]:
    return [] if config.head.tied else same("head.weight", _OUTPUT)


def _last(config: schema.Neural) -> list[Step]:
    """The scores of labels, or the output matrix."""
    return same("head.classify.weight", _LABELS) if isinstance(config.head, schema.ClassHead) else _untied(config)


def _steps_2(config: schema.Neural) -> list[Step]:
    return [
        *same("input.weight", f"{_BODY}wte.weight"),
        *same("backbone.positions.weight", f"{_BODY}wpe.weight"),
        *_blocks(config.backbone.depth, "before"),
        *layer("backbone.norm", f"{_BODY}ln_f"),
        *_last(config),
    ]


def _steps_1(config: schema.Neural) -> list[Step]:
    return [
        *same("input.weight", f"{_BODY}tokens_embed.weight"),
        *same("backbone.positions.weight", f"{_BODY}positions_embed.weight"),
        *_blocks(config.backbone.depth, "sum"),
        *_untied(config),
    ]


_BUFFERS = (rf"{_BODY}h\.\d+\.attn\.(masked_)?bias", rf"{_BODY}position_ids")
GPT_2 = Table(
    model="gpt2",
    title="GPT-2",
    objectives=(schema.Causal, schema.Supervised),
    read=_read_2,
    write=_write_2,
    steps=_steps_2,
    fits=lambda config: config.backbone.norm_at != "post" and config.backbone.sees == "left",
    body=_BODY,
    output=_OUTPUT,
    tied={_OUTPUT: f"{_BODY}wte.weight"},
    ignored=_BUFFERS,
)
GPT_1 = Table(
    model="openai-gpt",
    title="GPT-1",
    objectives=(schema.Causal,),
    read=_read_1,
    write=_write_1,
    steps=_steps_1,
    fits=lambda config: config.backbone.norm_at == "post",
    body=_BODY,
    output=_OUTPUT,
    tied={_OUTPUT: f"{_BODY}tokens_embed.weight"},
    ignored=_BUFFERS,
)
