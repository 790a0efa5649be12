"""Segment recurrence: Transformer-XL, XLNet, and Shortformer with position-infused attention."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    Contiguous,
    FeedForward,
    FullAttention,
    InfusedPositions,
    Inputs,
    LayerNorm,
    LMHead,
    Neural,
    Optimizer,
    PermutationLM,
    RelativePositions,
    Schedule,
    SegmentRecurrence,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
)
from firth.presets.sizes import Size, scaled


def _smaller(base: Neural, size: Size, batching: Contiguous) -> Neural:
    """A size for one machine, with a memory as long as a row. Byte-level BPE trains faster than a unigram model, and
    larger initial weights learn faster (300 steps of transformer-xl:tiny on world: test perplexity 11.3 from 0.02, 9.9
    from 0.06)."""
    small = scaled(base, size._replace(init_std=0.06), batching)
    return replace(
        small,
        tokenizer=replace(small.tokenizer, model="byte-bpe"),
        backbone=replace(small.backbone, memory=SegmentRecurrence(batching.length)),
    )


_TINY, _SMALL = Size(128, 3, 4, 2000, 2e-3, "60s"), Size(256, 4, 4, 8000, 1e-3, "10m")

# Transformer-XL (Dai et al. 2019) as for WikiText-103, with a full instead of an adaptive softmax.
XL_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=32_000),
    batching=Contiguous(batch_size=60, length=150),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(
        width=410,
        depth=16,
        heads=10,
        positions=RelativePositions(),
        attention=FullAttention(bias=False),
        feedforward=FeedForward(width=2100, activation="relu"),
        norm=LayerNorm(placement="post"),
        memory=SegmentRecurrence(150),
        dropout=0.1,
    ),
    head=LMHead(tied=True),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", learning_rate=2.5e-4, gradient_clip=0.25),
        schedule=Schedule(shape="cosine"),
    ),
)
XL_LARGE = replace(
    XL_BASE,
    batching=Contiguous(batch_size=128, length=384),
    backbone=replace(
        XL_BASE.backbone,
        width=1024,
        depth=18,
        heads=16,
        attention=FullAttention(bias=False, dropout=0.2),
        feedforward=FeedForward(width=4096, activation="relu"),
        memory=SegmentRecurrence(384),
        dropout=0.2,
    ),
)
XL_SIZES = {
    "tiny": _smaller(XL_BASE, _TINY, Contiguous(batch_size=8, length=64)),
    "small": _smaller(XL_BASE, _SMALL, Contiguous(batch_size=16, length=128)),
    "base": XL_BASE,
    "large": XL_LARGE,
}

# XLNet (Yang et al. 2019).
XLNET_BASE = Neural(
    tokenizer=Tokenizer(model="unigram", vocabulary_size=32_000),
    batching=Contiguous(batch_size=32, length=512),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(
        width=768,
        depth=12,
        heads=12,
        mask="permutation",
        positions=RelativePositions(segments=True),
        attention=FullAttention(bias=False, dropout=0.1),
        feedforward=FeedForward(activation="gelu"),
        norm=LayerNorm(placement="post", epsilon=1e-12),
        memory=SegmentRecurrence(384),
        dropout=0.1,
    ),
    head=LMHead(tied=True),
    objective=PermutationLM(),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", learning_rate=4e-4, weight_decay=0.01, gradient_clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup_steps=10_000),
    ),
)
XLNET_LARGE = replace(XLNET_BASE, backbone=replace(XLNET_BASE.backbone, width=1024, depth=24, heads=16))
XLNET_SIZES = {
    "tiny": _smaller(XLNET_BASE, _TINY, Contiguous(batch_size=8, length=64)),
    "small": _smaller(XLNET_BASE, _SMALL, Contiguous(batch_size=16, length=128)),
    "base": XLNET_BASE,
    "large": XLNET_LARGE,
}

# Shortformer (Press et al. 2021): the pre-norm Transformer of Baevski and Auli (2019) on short rows that attend to
# the row before; shorter ones still in the first half of training.
SHORTFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=32_000),
    batching=Contiguous(batch_size=18, length=512, length_curriculum=(128,)),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(
        width=1024,
        depth=16,
        heads=8,
        positions=InfusedPositions(),
        attention=FullAttention(dropout=0.1),
        feedforward=FeedForward(width=4096, activation="relu"),
        memory=SegmentRecurrence(512),
        dropout=0.3,
    ),
    head=LMHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", learning_rate=5e-4, betas=(0.9, 0.99), weight_decay=0.1, gradient_clip=0.1),
        schedule=Schedule(shape="cosine", warmup_steps=16_000),
    ),
)
SHORTFORMER_SIZES = {
    "tiny": _smaller(
        SHORTFORMER_BASE,
        _TINY._replace(learning_rate=4e-3),
        Contiguous(batch_size=8, length=64, length_curriculum=(16,)),
    ),
    "small": _smaller(SHORTFORMER_BASE, _SMALL, Contiguous(batch_size=16, length=128, length_curriculum=(32,))),
    "base": SHORTFORMER_BASE,
}
