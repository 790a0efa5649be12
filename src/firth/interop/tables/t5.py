"""T5 (Raffel et al. 2020), 1.0 and 1.1: an encoder-decoder without biases, with relative position buckets."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import ModelFamily, Names, denoising_seq2seq
from firth.interop.tensor_steps import Conversion, concatenated, layer, renamed

_OUTPUT = "lm_head.weight"
_EMBEDDINGS = "shared.weight"
_GATED = "gated-"


def _stack(fields: Fields, depth: int, mask: str) -> schema.Transformer:
    form = str(fields.get("feed_forward_proj", "relu"))
    plain = Fields({"feed_forward_proj": form.removeprefix(_GATED)}, fields.where)
    activation = "gelu-tanh" if form == "gated-gelu" else plain.activation("feed_forward_proj", "")  # gelu alone: exact
    feedforward = schema.GatedFeedForward if form.startswith(_GATED) else schema.FeedForward
    return schema.Transformer(
        width=fields.positive_int("d_model", 512),
        depth=depth,
        heads=fields.positive_int("num_heads", 8),
        mask=mask,
        bias=False,
        dropout=fields.fraction("dropout_rate", 0.1),
        positions=schema.T5Positions(),
        attention=schema.FullAttention(head_width=fields.positive_int("d_kv", 64), scaled=False),
        feedforward=feedforward(width=fields.positive_int("d_ff", 2048), activation=activation),
        norm=schema.RMSNorm(epsilon=fields.fraction("layer_norm_epsilon", 1e-6)),
    )


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    fields.require("relative_attention_num_buckets", 32)
    fields.require("relative_attention_max_distance", 128)
    depth = fields.positive_int("num_layers", 6)
    decoder_depth = fields.positive_int("num_decoder_layers", depth)
    stacks = schema.EncoderDecoder(_stack(fields, depth, "bidirectional"), _stack(fields, decoder_depth, "causal"))
    # In older files tie_word_embeddings also decides whether states are scaled before the output matrix.
    scaled = fields.boolean("scale_decoder_outputs", fields.boolean("tie_word_embeddings", True))
    head = schema.LMHead(tied=_OUTPUT not in names, bias=False, scale_states=scaled)
    objective = schema.Denoising(noise=("span-corruption",), decoder_start="pad")
    return denoising_seq2seq(schema.TokenInput(), stacks, head, objective)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    encoder, decoder = config.backbone.encoder, config.backbone.decoder
    form = HF_ACTIVATIONS[decoder.feedforward.activation]
    if isinstance(decoder.feedforward, schema.GatedFeedForward):
        form = _GATED + {"gelu_new": "gelu"}.get(form, form)
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "d_model": decoder.width,
        "num_layers": encoder.depth,
        "num_decoder_layers": decoder.depth,
        "num_heads": decoder.heads,
        "d_kv": decoder.attention.head_width,
        "d_ff": decoder.feedforward.width,
        "feed_forward_proj": form,
        "layer_norm_epsilon": decoder.norm.epsilon,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "dropout_rate": decoder.dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.head.scale_states,
        "scale_decoder_outputs": config.head.scale_states,
    }


def _attention(ours: str, theirs: str, name: str) -> list[Conversion]:
    return [
        *concatenated(f"{ours}.sublayer.qkv_proj", [f"{theirs}.{name}.{part}" for part in "qkv"], bias=False),
        *layer(f"{ours}.sublayer.out_proj", f"{theirs}.{name}.o", bias=False),
        *layer(f"{ours}.pre_norm", f"{theirs}.layer_norm", bias=False),
    ]


def _feedforward(ours: str, theirs: str, gated: bool) -> list[Conversion]:
    inputs = {"gate_proj": "wi_0", "up_proj": "wi_1"} if gated else {"up_proj": "wi"}
    conversions = layer(f"{ours}.pre_norm", f"{theirs}.layer_norm", bias=False)
    for our_name, their_name in (inputs | {"down_proj": "wo"}).items():
        conversions += layer(f"{ours}.sublayer.{our_name}", f"{theirs}.DenseReluDense.{their_name}", bias=False)
    return conversions


def _blocks(part: str, stack: schema.Transformer) -> list[Conversion]:
    ours, cross = f"backbone.{part}", part == "decoder"
    first = f"{part}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    conversions = renamed(f"{ours}.positions.weight", first)  # all layers share it
    for number in range(stack.depth):
        our_name, their_name = f"{ours}.blocks.{number}", f"{part}.block.{number}.layer"
        conversions += _attention(f"{our_name}.attention", f"{their_name}.0", "SelfAttention")
        gated = isinstance(stack.feedforward, schema.GatedFeedForward)
        conversions += _attention(f"{our_name}.cross_attention", f"{their_name}.1", "EncDecAttention") if cross else []
        conversions += _feedforward(f"{our_name}.feedforward", f"{their_name}.{2 if cross else 1}", gated)
    return [*conversions, *layer(f"{ours}.norm", f"{part}.final_layer_norm", bias=False)]


def _conversions(config: schema.Neural) -> list[Conversion]:
    conversions = renamed("inputs.text.weight", _EMBEDDINGS)
    for part in ("encoder", "decoder"):
        conversions += _blocks(part, getattr(config.backbone, part))
    return conversions if config.head.tied else [*conversions, *renamed("head.weight", _OUTPUT)]


T5 = ModelFamily(
    model_type="t5",
    title="T5",
    architectures=("T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model"),
    objectives=(schema.Seq2Seq,),
    backbone=schema.EncoderDecoder,
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: config.backbone.decoder.norm.placement != "post",
    output_weight=_OUTPUT,
    tied_weights=dict.fromkeys((_OUTPUT, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), _EMBEDDINGS),
    ignored_keys=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
)
