"""BART (Lewis et al. 2020): a post-norm encoder-decoder; position ids start at 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.label_names import read_outputs
from firth.interop.model_family import ModelFamily, Names, denoising_seq2seq, imported_task
from firth.interop.tensor_steps import Conversion, Reshape, SkipRows, concatenated, layer, renamed

_POSITION_OFFSET = 2
_OUTPUT = "lm_head.weight"
_BIAS = "final_logits_bias"
_EMBEDDINGS = "model.shared.weight"
_CLASSIFIER = "classification_head.out_proj.weight"


def _stack(fields: Fields, part: str, mask: str) -> schema.Transformer:
    return schema.Transformer(
        width=fields.positive_int("d_model", 1024),
        depth=fields.positive_int(f"{part}_layers", 12),
        heads=fields.positive_int(f"{part}_attention_heads", 16),
        context=fields.positive_int("max_position_embeddings", 1024),
        mask=mask,
        dropout=fields.fraction("dropout", 0.1),
        attention=schema.FullAttention(dropout=fields.fraction("attention_dropout", 0.0)),
        feedforward=schema.FeedForward(
            width=fields.positive_int(f"{part}_ffn_dim", 4096),
            activation=fields.activation("activation_function", "gelu"),
        ),
        norm=schema.LayerNorm(placement="post", embeddings=True),
    )


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    for name in ("scale_embedding", "normalize_before", "add_final_layer_norm", "static_position_embeddings"):
        fields.require(name, False)
    fields.require("normalize_embedding", True)
    stacks = schema.EncoderDecoder(_stack(fields, "encoder", "bidirectional"), _stack(fields, "decoder", "causal"))
    if _CLASSIFIER in names:
        stacks = replace(stacks, text_start=fields.non_negative_int("decoder_start_token_id", 2))
        head = read_outputs(fields, schema.ClassificationHead(pooling="last"))
        batching = schema.SentencePairs(batch_size=8, length=stacks.decoder.context, layout="double-sep")
        return imported_task(batching, schema.TokenInput(), stacks, head, schema.TaskExamples(text=()))
    head = schema.LMHead(tied=_OUTPUT not in names, bias=_BIAS in names)
    objective = schema.Denoising(
        noise=("text-infilling", "sentence-permutation"), noise_density=0.3, decoder_start="end", add_start_token=True
    )
    return denoising_seq2seq(schema.TokenInput(), stacks, head, objective)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    encoder, decoder = config.backbone.encoder, config.backbone.decoder
    is_classifier = isinstance(config.head, schema.ClassificationHead)
    values = {
        "architectures": [f"BartFor{'SequenceClassification' if is_classifier else 'ConditionalGeneration'}"],
        "d_model": decoder.width,
        "activation_function": HF_ACTIVATIONS[decoder.feedforward.activation],
        "max_position_embeddings": decoder.context,
        "dropout": decoder.dropout,
        "attention_dropout": decoder.attention.dropout,
        "init_std": decoder.init_std,
        "scale_embedding": False,
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.head.tied,
    }
    if is_classifier:
        values["decoder_start_token_id"] = config.backbone.text_start
    for part, stack in (("encoder", encoder), ("decoder", decoder)):
        values |= {f"{part}_layers": stack.depth, f"{part}_attention_heads": stack.heads}
        values |= {f"{part}_ffn_dim": stack.feedforward.width}
    return values


def _attention(ours: str, theirs: str) -> list[Conversion]:
    parts = [f"{theirs}.{part}_proj" for part in "qkv"]
    return [
        *concatenated(f"{ours}.sublayer.qkv_proj", parts),
        *layer(f"{ours}.sublayer.out_proj", f"{theirs}.out_proj"),
        *layer(f"{ours}.post_norm", f"{theirs}_layer_norm"),
    ]


def _blocks(part: str, depth: int) -> list[Conversion]:
    ours, theirs = f"backbone.{part}", f"model.{part}"
    conversions = renamed(f"{ours}.positions.weight", f"{theirs}.embed_positions.weight", SkipRows(_POSITION_OFFSET))
    conversions += layer(f"{ours}.input_norm", f"{theirs}.layernorm_embedding")
    for number in range(depth):
        our_name, their_name = f"{ours}.blocks.{number}", f"{theirs}.layers.{number}"
        conversions += _attention(f"{our_name}.attention", f"{their_name}.self_attn")
        conversions += (
            _attention(f"{our_name}.cross_attention", f"{their_name}.encoder_attn") if part == "decoder" else []
        )
        conversions += layer(f"{our_name}.feedforward.sublayer.up_proj", f"{their_name}.fc1")
        conversions += layer(f"{our_name}.feedforward.sublayer.down_proj", f"{their_name}.fc2")
        conversions += layer(f"{our_name}.feedforward.post_norm", f"{their_name}.final_layer_norm")
    return conversions


def _conversions(config: schema.Neural) -> list[Conversion]:
    conversions = renamed("inputs.text.weight", _EMBEDDINGS)
    for part in ("encoder", "decoder"):
        conversions += _blocks(part, getattr(config.backbone, part).depth)
    if isinstance(config.head, schema.ClassificationHead):
        dense, output = (f"classification_head.{name}" for name in ("dense", "out_proj"))
        return [*conversions, *layer("head.pooler", dense), *layer("head.classifier", output)]
    conversions += renamed("head.bias", _BIAS, Reshape((1, -1), (-1,))) if config.head.bias else []
    return conversions if config.head.tied else [*conversions, *renamed("head.weight", _OUTPUT)]


BART = ModelFamily(
    model_type="bart",
    title="BART",
    architectures=("BartForConditionalGeneration", "BartForSequenceClassification", "BartModel"),
    objectives=(schema.Seq2Seq, schema.Supervised),
    backbone=schema.EncoderDecoder,
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: config.backbone.decoder.norm.placement == "post",
    base_model_prefix="model.",
    output_weight=_OUTPUT,
    tied_weights=dict.fromkeys(
        (_OUTPUT, "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"), _EMBEDDINGS
    ),
)
