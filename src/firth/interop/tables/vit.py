"""ViT (Dosovitskiy et al. 2021) for image classification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.label_names import read_outputs
from firth.interop.model_family import ModelFamily, Names, imported_system
from firth.interop.tensor_steps import Conversion, Reshape, concatenated, layer, renamed

_PREFIX = "vit."
_EMBEDDINGS = f"{_PREFIX}embeddings."
_HEAD = schema.ClassificationHead(pooling="first", pooler=False, dropout=0.0)


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    fields.require("qkv_bias", True)
    if "classifier.weight" not in names:
        do = "save it as a ViTForImageClassification"
        raise FirthError("a ViT without a classifier, which firth does not support", where=fields.where, do=do)
    inputs = schema.PatchInput(
        image_size=fields.positive_int("image_size", 224),
        patch_size=fields.positive_int("patch_size", 16),
        channels=fields.positive_int("num_channels", 3),
    )
    stack = schema.Transformer(
        width=fields.positive_int("hidden_size", 768),
        depth=fields.positive_int("num_hidden_layers", 12),
        heads=fields.positive_int("num_attention_heads", 12),
        mask="bidirectional",
        dropout=fields.fraction("hidden_dropout_prob", 0.0),
        attention=schema.FullAttention(dropout=fields.fraction("attention_probs_dropout_prob", 0.0)),
        feedforward=schema.FeedForward(
            width=fields.positive_int("intermediate_size", 3072), activation=fields.activation("hidden_act", "gelu")
        ),
        norm=schema.LayerNorm(epsilon=fields.fraction("layer_norm_eps", 1e-12)),
    )
    system = imported_system(schema.ImageRows(), inputs, stack, _outputs(fields), schema.Supervised())
    return replace(system, data=schema.LabelledImages(text=()), tokenizer=schema.NoTokenizer())


def _outputs(fields: Fields) -> schema.ClassificationHead:
    head = read_outputs(fields, _HEAD)
    if head.problem_type == "regression":
        do = "images are classified, with two labels or more"
        raise FirthError("a regression of images, which firth does not support", where=fields.where, do=do)
    return head


def _write_config(config: schema.Neural) -> dict[str, Any]:
    stack, inputs = config.backbone, config.inputs["image"]
    if stack.context != inputs.positions:
        what = f"ViT has no backbone.context = {stack.context} for images of {inputs.positions} patches"
        raise FirthError(what, do="train with backbone.context=0")
    return {
        "architectures": ["ViTForImageClassification"],
        "hidden_size": stack.width,
        "num_hidden_layers": stack.depth,
        "num_attention_heads": stack.heads,
        "intermediate_size": stack.feedforward.width,
        "hidden_act": HF_ACTIVATIONS[stack.feedforward.activation],
        "layer_norm_eps": stack.norm.epsilon,
        "hidden_dropout_prob": stack.dropout,
        "attention_probs_dropout_prob": stack.attention.dropout,
        "initializer_range": stack.init_std,
        "image_size": inputs.image_size,
        "patch_size": inputs.patch_size,
        "num_channels": inputs.channels,
        "qkv_bias": True,
    }


def _conversions(config: schema.Neural) -> list[Conversion]:
    inputs, width = config.inputs["image"], config.backbone.width
    patch = (inputs.channels, inputs.patch_size, inputs.patch_size)
    product = f"{_EMBEDDINGS}patch_embeddings.projection"
    conversions = [
        *layer("inputs.image.projection", product, Reshape((width, *patch), (width, -1))),
        *renamed("inputs.image.cls_token", f"{_EMBEDDINGS}cls_token", Reshape((1, 1, width), (width,))),
        *renamed(
            "backbone.positions.weight", f"{_EMBEDDINGS}position_embeddings", Reshape((1, -1, width), (-1, width))
        ),
    ]
    for number in range(config.backbone.depth):
        ours, theirs = f"backbone.blocks.{number}", f"{_PREFIX}encoder.layer.{number}"
        parts = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        conversions += concatenated(f"{ours}.attention.sublayer.qkv_proj", parts)
        conversions += layer(f"{ours}.attention.sublayer.out_proj", f"{theirs}.attention.output.dense")
        conversions += layer(f"{ours}.attention.pre_norm", f"{theirs}.layernorm_before")
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.intermediate.dense")
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.output.dense")
        conversions += layer(f"{ours}.feedforward.pre_norm", f"{theirs}.layernorm_after")
    return [*conversions, *layer("backbone.norm", f"{_PREFIX}layernorm"), *layer("head.classifier", "classifier")]


VIT = ModelFamily(
    model_type="vit",
    title="ViT",
    architectures=("ViTForImageClassification",),
    objectives=(schema.Supervised,),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=lambda config: True,
    input=schema.PatchInput,
    base_model_prefix=_PREFIX,
    renamed_modules={
        r"encoder\.layer\.": "layers.",
        r"attention\.attention\.(query|key|value)": lambda part: f"attention.{part[1][0]}_proj",
        r"attention\.output\.dense": "attention.o_proj",
        r"intermediate\.dense": "mlp.fc1",
        r"output\.dense": "mlp.fc2",
    },
)
