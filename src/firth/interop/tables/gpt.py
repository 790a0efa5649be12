"""GPT-1 (Radford et al. 2018) and GPT-2 (Radford et al. 2019): causal decoders, post-norm and pre-norm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import ModelFamily, Names, causal_lm, sequence_classification
from firth.interop.tensor_steps import Conversion, Transpose, layer, renamed

_PREFIX = "transformer."
_OUTPUT = "lm_head.weight"
_CLASSIFIER = "score.weight"
_CLASSIFICATION_HEAD = schema.ClassificationHead(pooling="last", pooler=False, bias=False)
# GPT-1's config.json says gelu for the tanh approximation.
_GPT1_ACTIVATIONS = {"gelu": "gelu-tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
_ACTIVATIONS_TO_GPT1 = {"gelu-tanh": "gelu", "relu": "relu", "silu": "silu"}


def _backbone(fields: Fields, activation: str) -> schema.Transformer:
    return schema.Transformer(
        width=fields.positive_int("n_embd", 768),
        depth=fields.positive_int("n_layer", 12),
        heads=fields.positive_int("n_head", 12),
        context=fields.positive_int("n_positions", 1024),
        dropout=fields.fraction("resid_pdrop", 0.1),
        attention=schema.FullAttention(dropout=fields.fraction("attn_pdrop", 0.1)),
        feedforward=schema.FeedForward(activation=activation),
        norm=schema.LayerNorm(epsilon=fields.fraction("layer_norm_epsilon", 1e-5)),
    )


def _sizes(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    return {
        "n_embd": stack.width,
        "n_layer": stack.depth,
        "n_head": stack.heads,
        "n_positions": stack.context,
        "layer_norm_epsilon": stack.norm.epsilon,
        "resid_pdrop": stack.dropout,
        "embd_pdrop": stack.dropout,
        "attn_pdrop": stack.attention.dropout,
        "initializer_range": stack.init_std,
        "tie_word_embeddings": config.head.tied,
    }


def _system(fields: Fields, stack: schema.Transformer, names: Names) -> schema.Neural:
    """A sequence classifier or a causal language model, by the head's tensors."""
    if _CLASSIFIER in names:
        return sequence_classification(fields, schema.TokenInput(), stack, _CLASSIFICATION_HEAD, "plain")
    return causal_lm(schema.TokenInput(), stack, schema.LMHead(tied=_OUTPUT not in names, bias=False))


def _architecture(config: schema.Neural, name: str) -> str:
    is_classifier = isinstance(config.head, schema.ClassificationHead)
    return f"{name}ForSequenceClassification" if is_classifier else f"{name}LMHeadModel"


def _read_gpt2(fields: Fields, names: Names) -> schema.Neural:
    for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        fields.require(name, False)
    scaled = fields.boolean("scale_attn_weights", True)
    inner = fields.positive_int("n_inner", 0) if "n_inner" in fields else 0
    activation = fields.activation("activation_function", "gelu_new")
    stack = _backbone(fields, activation)
    stack = replace(
        stack,
        feedforward=replace(stack.feedforward, width=inner),
        attention=replace(stack.attention, scaled=scaled),
    )
    return _system(fields, stack, names)


def _write_gpt2(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    own = {
        "activation_function": HF_ACTIVATIONS[stack.feedforward.activation],
        "n_inner": stack.feedforward.width,
        "scale_attn_weights": stack.attention.scaled,
    }
    return {"architectures": [_architecture(config, "GPT2")], **_sizes(config), **own}


def _read_gpt1(fields: Fields, names: Names) -> schema.Neural:
    activation = fields.get("afn", "gelu")
    fields.require("afn", *_GPT1_ACTIVATIONS)
    stack = _backbone(fields, _GPT1_ACTIVATIONS[activation])
    stack = replace(stack, norm=replace(stack.norm, placement="post"))
    return _system(fields, stack, names)


def _write_gpt1(config: schema.Neural) -> dict[str, Any]:
    stack = config.backbone
    if stack.feedforward.activation not in _ACTIVATIONS_TO_GPT1:
        do = f"it supports {', '.join(_ACTIVATIONS_TO_GPT1)}"
        raise FirthError(f"GPT-1 has no backbone.feedforward.activation = {stack.feedforward.activation}", do=do)
    own = {"afn": _ACTIVATIONS_TO_GPT1[stack.feedforward.activation], "summary_type": "cls_index"}
    return {"architectures": [_architecture(config, "OpenAIGPT")], **_sizes(config), **own}


def _blocks(depth: int, norm: str) -> list[Conversion]:
    """The decoder's layers; their matrices are (in, out)."""
    conversions: list[Conversion] = []
    for number in range(depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_PREFIX}h.{number}"
        conversions += layer(f"{ours}.attention.sublayer.qkv_proj", f"{theirs}.attn.c_attn", Transpose())
        conversions += layer(f"{ours}.attention.sublayer.out_proj", f"{theirs}.attn.c_proj", Transpose())
        conversions += layer(f"{ours}.attention.{norm}", f"{theirs}.ln_1")
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.mlp.c_fc", Transpose())
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.mlp.c_proj", Transpose())
        conversions += layer(f"{ours}.feedforward.{norm}", f"{theirs}.ln_2")
    return conversions


def _output(config: schema.Neural) -> list[Conversion]:
    """The classification head, or the output matrix if it is not tied."""
    if isinstance(config.head, schema.ClassificationHead):
        return renamed("head.classifier.weight", _CLASSIFIER)
    return [] if config.head.tied else renamed("head.weight", _OUTPUT)


def _gpt2_conversions(config: schema.Neural) -> list[Conversion]:
    return [
        *renamed("inputs.text.weight", f"{_PREFIX}wte.weight"),
        *renamed("backbone.positions.weight", f"{_PREFIX}wpe.weight"),
        *_blocks(config.backbone.depth, "pre_norm"),
        *layer("backbone.norm", f"{_PREFIX}ln_f"),
        *_output(config),
    ]


def _gpt1_conversions(config: schema.Neural) -> list[Conversion]:
    return [
        *renamed("inputs.text.weight", f"{_PREFIX}tokens_embed.weight"),
        *renamed("backbone.positions.weight", f"{_PREFIX}positions_embed.weight"),
        *_blocks(config.backbone.depth, "post_norm"),
        *_output(config),
    ]


_BUFFERS = (rf"{_PREFIX}h\.\d+\.attn\.(masked_)?bias", rf"{_PREFIX}position_ids")
GPT_2 = ModelFamily(
    model_type="gpt2",
    title="GPT-2",
    architectures=("GPT2LMHeadModel", "GPT2ForSequenceClassification", "GPT2Model"),
    objectives=(schema.CausalLM, schema.Supervised),
    read_config=_read_gpt2,
    write_config=_write_gpt2,
    conversions=_gpt2_conversions,
    is_default=lambda config: config.backbone.norm.placement != "post" and config.backbone.mask == "causal",
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: f"{_PREFIX}wte.weight"},
    ignored_keys=_BUFFERS,
)
GPT_1 = ModelFamily(
    model_type="openai-gpt",
    title="GPT-1",
    architectures=("OpenAIGPTLMHeadModel", "OpenAIGPTForSequenceClassification", "OpenAIGPTModel"),
    objectives=(schema.CausalLM, schema.Supervised),
    read_config=_read_gpt1,
    write_config=_write_gpt1,
    conversions=_gpt1_conversions,
    is_default=lambda config: config.backbone.norm.placement == "post" and config.backbone.mask == "causal",
    base_model_prefix=_PREFIX,
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: f"{_PREFIX}tokens_embed.weight"},
    ignored_keys=_BUFFERS,
)
