"""BART (Lewis et al. 2020): two stacks with BERT's norms; places are counted from 2 on."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Drop, Shape, Step, joined, layer, same
from firth.interop.table import Names, Table, denoising

_FIRST = 2
_OUTPUT = "lm_head.weight"
_BIAS = "final_logits_bias"
_TABLE = "model.shared.weight"


def _stack(fields: Fields, part: str, sees: str) -> schema.Transformer:
    return schema.Transformer(
        width=fields.whole("d_model", 1024),
        depth=fields.whole(f"{part}_layers", 12),
        heads=fields.whole(f"{part}_attention_heads", 16),
        inner=fields.whole(f"{part}_ffn_dim", 4096),
        activation=fields.activation("activation_function", "gelu"),
        norm_at="post",
        norm_input=True,
        context=fields.whole("max_position_embeddings", 1024),
        sees=sees,
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.0),
    )


def _read(fields: Fields, names: Names) -> schema.Neural:
    for name in ("scale_embedding", "normalize_before", "add_final_layer_norm", "static_position_embeddings"):
        fields.only(name, False)
    fields.only("normalize_embedding", True)
    stacks = schema.EncoderDecoder(_stack(fields, "encoder", "all"), _stack(fields, "decoder", "left"))
    head = schema.LanguageHead(tied=_OUTPUT not in names, bias=_BIAS in names)
    noise = schema.Denoise(noise=("infill", "permute"), share=0.3, first="end", opened=True)
    return denoising(schema.TokenInput(), stacks, head, noise)


def _write(config: schema.Neural) -> dict[str, Any]:
    encoder, decoder = config.backbone.encoder, config.backbone.decoder
    found = {
        "architectures": ["BartForConditionalGeneration"],
        "d_model": decoder.width,
        "activation_function": CALLED[decoder.activation],
        "max_position_embeddings": decoder.context,
        "dropout": decoder.dropout,
        "attention_dropout": decoder.attention_dropout,
        "init_std": decoder.spread,
        "scale_embedding": False,
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.head.tied,
    }
    for part, stack in (("encoder", encoder), ("decoder", decoder)):
        found |= {f"{part}_layers": stack.depth, f"{part}_attention_heads": stack.heads}
        found |= {f"{part}_ffn_dim": stack.inner}
    return found


def _attention(ours: str, theirs: str) -> list[Step]:
    parts = [f"{theirs}.{part}_proj" for part in "qkv"]
    return [
        *joined(f"{ours}.inner.inputs", parts),
        *layer(f"{ours}.inner.output", f"{theirs}.out_proj"),
        *layer(f"{ours}.sum", f"{theirs}_layer_norm"),
    ]


def _blocks(part: str, depth: int) -> list[Step]:
    ours, theirs = f"backbone.{part}", f"model.{part}"
    found = same(f"{ours}.positions.weight", f"{theirs}.embed_positions.weight", Drop(_FIRST))
    found += layer(f"{ours}.input_norm", f"{theirs}.layernorm_embedding")
    for number in range(depth):
        mine, his = f"{ours}.blocks.{number}", f"{theirs}.layers.{number}"
        found += _attention(f"{mine}.attention", f"{his}.self_attn")
        found += _attention(f"{mine}.cross", f"{his}.encoder_attn") if part == "decoder" else []
        found += layer(f"{mine}.feedforward.inner.input", f"{his}.fc1")
        found += layer(f"{mine}.feedforward.inner.output", f"{his}.fc2")
        found += layer(f"{mine}.feedforward.sum", f"{his}.final_layer_norm")
    return found


def _steps(config: schema.Neural) -> list[Step]:
    found = same("input.weight", _TABLE)
    for part in ("encoder", "decoder"):
        found += _blocks(part, getattr(config.backbone, part).depth)
    found += same("head.bias", _BIAS, Shape((1, -1), (-1,))) if config.head.bias else []
    return found if config.head.tied else [*found, *same("head.weight", _OUTPUT)]


BART = Table(
    model="bart",
    title="BART",
    objectives=(schema.Written,),
    backbone=schema.EncoderDecoder,
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: config.backbone.decoder.norm_at == "post",
    body="model.",
    output=_OUTPUT,
    tied=dict.fromkeys((_OUTPUT, "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"), _TABLE),
)
