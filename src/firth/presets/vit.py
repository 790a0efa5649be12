"""Image classification: the Vision Transformer (ViT; Dosovitskiy et al. 2021)."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    ClassificationHead,
    FeedForward,
    ImageRows,
    Inputs,
    LabelledImages,
    LayerNorm,
    Neural,
    NoTokenizer,
    Optimizer,
    PatchInput,
    Schedule,
    Supervised,
    Train,
    Transformer,
)

# As the paper trains on ImageNet from scratch: 4096 images to a step, 300 epochs, strong weight decay.
VIT_BASE = Neural(
    data=LabelledImages(),
    tokenizer=NoTokenizer(),
    batching=ImageRows(batch_size=128),
    inputs=Inputs(image=PatchInput(image_size=224, patch_size=16)),
    backbone=Transformer(
        width=768,
        depth=12,
        heads=12,
        mask="bidirectional",
        feedforward=FeedForward(activation="gelu"),
        norm=LayerNorm(epsilon=1e-6),
        dropout=0.1,
    ),
    head=ClassificationHead(pooling="first", pooler=False, dropout=0.0),
    objective=Supervised(),
    train=Train(
        budget="300 epochs",
        gradient_accumulation=32,
        optimizer=Optimizer(name="adamw", learning_rate=3e-3, betas=(0.9, 0.999), weight_decay=0.3, gradient_clip=1.0),
        schedule=Schedule(shape="cosine", warmup_steps=10_000),
    ),
)
VIT_LARGE = replace(VIT_BASE, backbone=replace(VIT_BASE.backbone, width=1024, depth=24, heads=16))
VIT_HUGE = replace(
    VIT_BASE,
    inputs=Inputs(image=PatchInput(image_size=224, patch_size=14)),
    backbone=replace(VIT_BASE.backbone, width=1280, depth=32, heads=16),
)


def _sized(width: int, depth: int, learning_rate: float, budget: str, init_std: float) -> Neural:
    """For one machine and few images, with larger initial weights, which learn faster."""
    train = replace(
        VIT_BASE.train,
        budget=budget,
        gradient_accumulation=1,
        optimizer=replace(VIT_BASE.train.optimizer, learning_rate=learning_rate, weight_decay=0.03),
        schedule=replace(VIT_BASE.train.schedule, warmup_steps=30),
    )
    return replace(
        VIT_BASE,
        batching=ImageRows(batch_size=32),
        inputs=Inputs(image=PatchInput(image_size=32, patch_size=4, init_std=init_std)),
        backbone=replace(VIT_BASE.backbone, width=width, depth=depth, heads=4, init_std=init_std),
        train=train,
    )


VIT_SIZES = {
    "tiny": _sized(64, 2, 3e-3, "60s", 0.2),
    "small": _sized(128, 4, 1e-3, "10m", 0.12),
    "base": VIT_BASE,
    "large": VIT_LARGE,
    "huge": VIT_HUGE,
}
