"""Transformer encoders and decoders: BERT, GPT-1, GPT-2, and our own with rotary positions and norms first."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    FeedForward,
    FullAttention,
    GatedFeedForward,
    Inputs,
    LayerNorm,
    LMHead,
    MaskedLM,
    Neural,
    Optimizer,
    RMSNorm,
    RotaryPositions,
    Schedule,
    SegmentPairs,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.sizes import Size, scaled

_DROPOUT = FullAttention(dropout=0.1)

# GPT-1 (Radford et al. 2018): post-norm, learned positions, tied embeddings.
GPT1_BASE = Neural(
    tokenizer=Tokenizer(model="bpe", vocabulary_size=40_478, lowercase="yes"),
    batching=Windows(batch_size=64, length=512),
    inputs=Inputs(text=TokenInput(init_range=0.035)),  # the variance of the paper's normal initialisation of 0.02
    backbone=Transformer(
        width=768, depth=12, heads=12, attention=_DROPOUT, norm=LayerNorm(placement="post"), dropout=0.1
    ),
    head=LMHead(tied=True, bias=False),
    train=Train(
        budget="100 epochs",
        optimizer=Optimizer(name="adamw", learning_rate=2.5e-4, weight_decay=0.01, gradient_clip=1.0),
        schedule=Schedule(shape="cosine", warmup_steps=2000),
    ),
)
# GPT-2 (Radford et al. 2019): pre-norm and a final norm, 1024 positions, byte-level BPE, 512 sequences to a step. The
# paper does not give learning rates; these are GPT-3's for the same sizes (Brown et al. 2020).
GPT2_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=50_257),
    batching=Windows(batch_size=16, length=1024),
    inputs=Inputs(text=TokenInput(init_range=0.035)),
    backbone=Transformer(width=768, depth=12, heads=12, attention=_DROPOUT, dropout=0.1),
    head=LMHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        gradient_accumulation=32,
        optimizer=Optimizer(name="adamw", learning_rate=6e-4, betas=(0.9, 0.95), weight_decay=0.1, gradient_clip=1.0),
        schedule=Schedule(shape="cosine", warmup_steps=2000, min_ratio=0.1),
    ),
)


def _gpt2(width: int, depth: int, heads: int, learning_rate: float) -> Neural:
    train = GPT2_BASE.train
    return replace(
        GPT2_BASE,
        backbone=replace(GPT2_BASE.backbone, width=width, depth=depth, heads=heads),
        train=replace(train, optimizer=replace(train.optimizer, learning_rate=learning_rate)),
    )


def _for_one_machine(base: Neural) -> dict[str, Neural]:
    """The tiny and the small size of a decoder, with larger initial embeddings, which learn faster."""
    base = replace(base, inputs=base.inputs.replace("text", init_range=0.1))
    return {
        "tiny": scaled(base, Size(128, 3, 4, 2000, 2e-3, "60s"), Windows(batch_size=16, length=64)),
        "small": scaled(base, Size(256, 4, 4, 8000, 1e-3, "10m"), Windows(batch_size=16, length=128)),
    }


GPT1_SIZES = {**_for_one_machine(GPT1_BASE), "base": GPT1_BASE}
GPT2_SIZES = {
    **_for_one_machine(GPT2_BASE),
    "base": GPT2_BASE,
    "medium": _gpt2(1024, 24, 16, 3e-4),
    "large": _gpt2(1280, 36, 20, 2.5e-4),
    "xl": _gpt2(1600, 48, 25, 2e-4),
}

# Our own decoder for one machine and little text: GPT-2's block with rotary positions and larger initial weights (500
# steps of the tiny size on python-docs: validation perplexity 146 as GPT-2, 103 with the initialisation and a higher
# learning rate, 88 with rotary positions too).
TRANSFORMER_LM_SMALL = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=8000),
    batching=Windows(batch_size=8, length=128),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(width=256, depth=4, heads=4, positions=RotaryPositions(), dropout=0.1),
    head=LMHead(tied=True, bias=False),
    train=Train(
        budget="90s",
        optimizer=Optimizer(name="adamw", learning_rate=1e-3, betas=(0.9, 0.99), weight_decay=0.1, gradient_clip=1.0),
        schedule=Schedule(shape="cosine", warmup_steps=100, min_ratio=0.05),
    ),
)
_TRAIN = TRANSFORMER_LM_SMALL.train
TRANSFORMER_LM_TINY = replace(
    TRANSFORMER_LM_SMALL,
    tokenizer=replace(TRANSFORMER_LM_SMALL.tokenizer, vocabulary_size=2000),
    batching=Windows(batch_size=8, length=64),
    backbone=replace(TRANSFORMER_LM_SMALL.backbone, width=128, depth=3, dropout=0.0),
    train=replace(_TRAIN, budget="20s", optimizer=replace(_TRAIN.optimizer, learning_rate=4e-3)),
)
TRANSFORMER_LM_MEDIUM = replace(
    TRANSFORMER_LM_SMALL,
    batching=Windows(batch_size=8, length=256),
    backbone=replace(TRANSFORMER_LM_SMALL.backbone, width=384, depth=6, heads=6),
    train=replace(_TRAIN, budget="20m"),
)
TRANSFORMER_LM_SIZES = {
    "tiny": TRANSFORMER_LM_TINY,
    "small": TRANSFORMER_LM_SMALL,
    "medium": TRANSFORMER_LM_MEDIUM,
}

# BERT (Devlin et al. 2019): learned positions, segment embeddings, post-norm, MLM with next-sentence prediction.
BERT_BASE = Neural(
    tokenizer=Tokenizer(model="wordpiece", vocabulary_size=30_522, lowercase="yes"),
    batching=SegmentPairs(batch_size=32, length=512, pairs="next-sentence"),
    inputs=Inputs(text=TokenInput(segments=2, init_range=0.05)),
    backbone=Transformer(
        width=768,
        depth=12,
        heads=12,
        mask="bidirectional",
        attention=_DROPOUT,
        feedforward=FeedForward(activation="gelu"),
        norm=LayerNorm(placement="post", embeddings=True, epsilon=1e-12),
        dropout=0.1,
    ),
    head=LMHead(tied=True, transform=True),
    objective=MaskedLM(masking="static", next_sentence=True),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", learning_rate=1e-4, weight_decay=0.01, gradient_clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup_steps=10_000),
    ),
)


def encoder(base: Neural, size: Size, batch_size: int, length: int) -> Neural:
    """A bidirectional encoder in a size for one machine, with larger initial embeddings, which learn faster."""
    base = replace(base, inputs=base.inputs.replace("text", init_range=0.1))
    return scaled(base, size, replace(base.batching, batch_size=batch_size, length=length))


# The sizes between are those of Turc et al. 2019.
BERT_TINY = encoder(BERT_BASE, Size(128, 2, 2, 2000, 2e-3, "60s"), 16, 64)
BERT_MINI = encoder(BERT_BASE, Size(256, 4, 4, 8000, 1e-3, "10m"), 16, 128)
BERT_SMALL = encoder(BERT_BASE, Size(512, 4, 8, 8000, 5e-4, "1h", init_std=0.04), 32, 128)
BERT_MEDIUM = encoder(BERT_BASE, Size(512, 8, 8, 16_000, 5e-4, "4h", init_std=0.04), 32, 128)
BERT_LARGE = replace(BERT_BASE, backbone=replace(BERT_BASE.backbone, width=1024, depth=24, heads=16))
BERT_SIZES = {
    "tiny": BERT_TINY,
    "mini": BERT_MINI,
    "small": BERT_SMALL,
    "medium": BERT_MEDIUM,
    "base": BERT_BASE,
    "large": BERT_LARGE,
}

# Our own encoder: rotary positions, RMS norms first, gated feed-forward networks, dynamic masking without next-sentence
# prediction (Liu et al. 2019), no dropout, since a text is hardly read twice; docs/results.md has its gain over bert.
MODERN_ENCODER = replace(
    BERT_BASE,
    batching=SegmentPairs(batch_size=32, length=512),
    backbone=replace(
        BERT_BASE.backbone,
        positions=RotaryPositions(),
        attention=FullAttention(),
        feedforward=GatedFeedForward(activation="gelu", width=2048),
        norm=RMSNorm(placement="pre"),
        bias=False,
        dropout=0.0,
    ),
    objective=MaskedLM(),
)
MODERN_ENCODER_SIZES = {
    "tiny": encoder(MODERN_ENCODER, Size(128, 2, 2, 2000, 2e-3, "60s", feedforward=344), 16, 64),
    "mini": encoder(MODERN_ENCODER, Size(256, 4, 4, 8000, 1e-3, "10m", feedforward=688), 16, 128),
    "base": MODERN_ENCODER,
}
