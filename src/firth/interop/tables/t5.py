"""T5 (Raffel et al. 2020), 1.0 and 1.1: two stacks without biases, a learned score for each range of distances."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Step, joined, layer, same
from firth.interop.table import Names, Table, denoising

_OUTPUT = "lm_head.weight"
_TABLE = "shared.weight"
_GATED = "gated-"


def _stack(fields: Fields, depth: int, sees: str) -> schema.Transformer:
    form = str(fields.get("feed_forward_proj", "relu"))
    bend = Fields({"feed_forward_proj": form.removeprefix(_GATED)}, fields.where).activation("feed_forward_proj", "")
    if form == "gated-gelu":  # means its approximation, unlike gelu alone
        bend = "gelu-tanh"
    return schema.Transformer(
        width=fields.whole("d_model", 512),
        depth=depth,
        heads=fields.whole("num_heads", 8),
        head_width=fields.whole("d_kv", 64),
        inner=fields.whole("d_ff", 2048),
        activation=bend,
        gated=form.startswith(_GATED),
        norm="rms",
        epsilon=fields.number("layer_norm_epsilon", 1e-6),
        positions="t5",
        sees=sees,
        bias=False,
        scaled=False,
        dropout=fields.number("dropout_rate", 0.1),
    )


def _read(fields: Fields, names: Names) -> schema.Neural:
    fields.only("relative_attention_num_buckets", 32)
    fields.only("relative_attention_max_distance", 128)
    depth = fields.whole("num_layers", 6)
    writes = fields.whole("num_decoder_layers", depth)
    stacks = schema.EncoderDecoder(_stack(fields, depth, "all"), _stack(fields, writes, "left"))
    # Older files say by tie_word_embeddings whether states are scaled before the output.
    scaled = fields.flag("scale_decoder_outputs", fields.flag("tie_word_embeddings", True))
    head = schema.LanguageHead(tied=_OUTPUT not in names, bias=False, scaled=scaled)
    return denoising(schema.TokenInput(), stacks, head, schema.Denoise(noise=("spans",), first="pad"))


def _write(config: schema.Neural) -> dict[str, Any]:
    encoder, decoder = config.backbone.encoder, config.backbone.decoder
    form = CALLED[decoder.activation]
    if decoder.gated:
        form = _GATED + {"gelu_new": "gelu"}.get(form, form)
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "d_model": decoder.width,
        "num_layers": encoder.depth,
        "num_decoder_layers": decoder.depth,
        "num_heads": decoder.heads,
        "d_kv": decoder.head_width,
        "d_ff": decoder.inner,
        "feed_forward_proj": form,
        "layer_norm_epsilon": decoder.epsilon,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "dropout_rate": decoder.dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.head.scaled,
        "scale_decoder_outputs": config.head.scaled,
    }


def _attention(ours: str, theirs: str, name: str) -> list[Step]:
    return [
        *joined(f"{ours}.inner.inputs", [f"{theirs}.{name}.{part}" for part in "qkv"], bias=False),
        *layer(f"{ours}.inner.output", f"{theirs}.{name}.o", bias=False),
        *layer(f"{ours}.before", f"{theirs}.layer_norm", bias=False),
    ]


def _feedforward(ours: str, theirs: str, gated: bool) -> list[Step]:
    inputs = {"input": "wi_0", "gate": "wi_1"} if gated else {"input": "wi"}
    found = layer(f"{ours}.before", f"{theirs}.layer_norm", bias=False)
    for mine, his in (inputs | {"output": "wo"}).items():
        found += layer(f"{ours}.inner.{mine}", f"{theirs}.DenseReluDense.{his}", bias=False)
    return found


def _blocks(part: str, stack: schema.Transformer) -> list[Step]:
    ours, cross = f"backbone.{part}", part == "decoder"
    first = f"{part}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    found = same(f"{ours}.positions.weight", first)  # all layers share it
    for number in range(stack.depth):
        mine, his = f"{ours}.blocks.{number}", f"{part}.block.{number}.layer"
        found += _attention(f"{mine}.attention", f"{his}.0", "SelfAttention")
        found += _attention(f"{mine}.cross", f"{his}.1", "EncDecAttention") if cross else []
        found += _feedforward(f"{mine}.feedforward", f"{his}.{2 if cross else 1}", stack.gated)
    return [*found, *layer(f"{ours}.norm", f"{part}.final_layer_norm", bias=False)]


def _steps(config: schema.Neural) -> list[Step]:
    found = same("input.weight", _TABLE)
    for part in ("encoder", "decoder"):
        found += _blocks(part, getattr(config.backbone, part))
    return found if config.head.tied else [*found, *same("head.weight", _OUTPUT)]


T5 = Table(
    model="t5",
    title="T5",
    objectives=(schema.Written,),
    backbone=schema.EncoderDecoder,
    read=_read,
    write=_write,
    steps=_steps,
    fits=lambda config: config.backbone.decoder.norm_at != "post",
    output=_OUTPUT,
    tied=dict.fromkeys((_OUTPUT, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), _TABLE),
    ignored=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
)
