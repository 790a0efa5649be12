"""Longformer: sliding-window attention with global tokens; the masked and the character-level language model."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    FeedForward,
    Inputs,
    LayerNorm,
    LMHead,
    MaskedLM,
    Neural,
    Optimizer,
    RelativePositions,
    Schedule,
    SegmentPairs,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    WindowAttention,
    Windows,
)
from firth.presets.sizes import Size
from firth.presets.transformer import BERT_BASE, encoder

# Longformer (Beltagy et al. 2020): RoBERTa's layers with 256 tokens on each side in every layer, and global attention
# of [CLS] by projections of its own.
LONGFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=50_265),
    batching=SegmentPairs(batch_size=8, length=4096),
    inputs=Inputs(text=TokenInput(init_range=0.05)),
    backbone=replace(
        BERT_BASE.backbone,
        attention=WindowAttention(window=(256,), global_tokens="first", global_projections=True, dropout=0.1),
        norm=LayerNorm(placement="post", embeddings=True),
    ),
    head=LMHead(tied=True, transform=True, norm_epsilon=1e-5),
    objective=MaskedLM(),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", learning_rate=3e-5, weight_decay=0.01, gradient_clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup_steps=500),
    ),
)
LONGFORMER_LARGE = replace(LONGFORMER_BASE, backbone=replace(LONGFORMER_BASE.backbone, width=1024, depth=24, heads=16))


def _windowed(config: Neural, window: int) -> Neural:
    attention = replace(config.backbone.attention, window=(window,))
    return replace(config, backbone=replace(config.backbone, attention=attention))


LONGFORMER_SIZES = {
    "tiny": encoder(_windowed(LONGFORMER_BASE, 16), Size(128, 2, 4, 2000, 2e-3, "60s"), 4, 256),
    "small": encoder(_windowed(LONGFORMER_BASE, 64), Size(256, 4, 4, 8000, 1e-3, "10m"), 2, 1024),
    "base": LONGFORMER_BASE,
    "large": LONGFORMER_LARGE,
}

# The paper's character-level language model: pre-norm, relative positions, windows that grow from 32 in the bottom to
# 512 in the top layers, two dilated heads in the upper layers, and rows and windows that grow by stages while the
# learning rate is halved.
LONGFORMER_LM_BASE = Neural(
    tokenizer=Tokenizer(model="byte", vocabulary_size=512),
    batching=Windows(batch_size=16, length=16_384, length_curriculum=(2048, 4096, 8192)),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(
        width=512,
        depth=12,
        heads=8,
        positions=RelativePositions(),
        attention=WindowAttention(
            window=(32, 32, 64, 64, 128, 128, 256, 256, 384, 384, 512, 512),
            scale_window=True,
            dilation=(1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4),
            dilated_heads=2,
        ),
        feedforward=FeedForward(activation="gelu"),
        dropout=0.2,
    ),
    head=LMHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", learning_rate=2.5e-4, weight_decay=0.01, gradient_clip=0.25),
        schedule=Schedule(shape="constant", warmup_steps=10_000, decay_stages=4, factor=0.5),
    ),
)
_ATTENTION = LONGFORMER_LM_BASE.backbone.attention
LONGFORMER_LM_LARGE = replace(
    LONGFORMER_LM_BASE,
    backbone=replace(
        LONGFORMER_LM_BASE.backbone,
        depth=30,
        attention=replace(
            _ATTENTION,
            window=tuple(size for size in (32, 64, 128, 256, 384, 512) for _ in range(5)),
            dilation=(1,) * 15 + (2,) * 5 + (3,) * 5 + (4,) * 5,
        ),
    ),
)


def _staged(
    width: int, windows: tuple[int, ...], dilation: tuple[int, ...], batch_size: int, lengths: tuple[int, ...]
) -> Neural:
    """The same for one machine and little text: rows of the last of the lengths in the end."""
    base = LONGFORMER_LM_BASE
    attention = replace(_ATTENTION, window=windows, dilation=dilation, dilated_heads=1)
    backbone = replace(base.backbone, width=width, depth=len(windows), heads=4, attention=attention, dropout=0.1)
    optimizer = replace(
        base.train.optimizer, learning_rate=2e-3, betas=(0.9, 0.99), weight_decay=0.1, gradient_clip=1.0
    )
    schedule = Schedule(shape="cosine", warmup_steps=100, min_ratio=0.05)
    return replace(
        base,
        tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=2000),
        batching=Windows(batch_size=batch_size, length=lengths[-1], length_curriculum=lengths[:-1]),
        backbone=backbone,
        train=Train(budget="60s", optimizer=optimizer, schedule=schedule),
    )


_SMALL = _staged(256, (32, 64, 128, 128), (1, 1, 2, 2), 1, (256, 512, 1024))
LONGFORMER_LM_SIZES = {
    "tiny": _staged(128, (8, 16, 32), (1, 1, 2), 2, (64, 128, 256)),
    "small": replace(
        _SMALL,
        tokenizer=replace(_SMALL.tokenizer, vocabulary_size=8000),
        train=replace(_SMALL.train, budget="10m", optimizer=replace(_SMALL.train.optimizer, learning_rate=1e-3)),
    ),
    "base": LONGFORMER_LM_BASE,
    "large": LONGFORMER_LM_LARGE,
}
