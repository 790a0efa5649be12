"""Transformers for long texts, whose tokens see those near them (Beltagy et al. 2020)."""

from dataclasses import replace

from firth.config.schema import (
    Framed,
    LanguageHead,
    Masked,
    Neural,
    Optimizer,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.transformer import BERT_BASE, smaller

# RoBERTa's block (Liu et al. 2019) with 256 tokens seen on each side, and [CLS] seeing all by projections of its own.
LONGFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=50_265),
    batching=Framed(rows=8, length=4096),
    input=TokenInput(spread=0.05),
    backbone=replace(
        BERT_BASE.backbone, epsilon=1e-5, window=256, central="first", central_projections=True, kernel="banded"
    ),
    head=LanguageHead(tied=True, transform=True, epsilon=1e-5),
    objective=Masked(),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", rate=3e-5, betas=(0.9, 0.999), decay=0.01, clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup=500),
    ),
)
LONGFORMER_LARGE = replace(LONGFORMER_BASE, backbone=replace(LONGFORMER_BASE.backbone, width=1024, depth=24, heads=16))


def _short_sighted(config: Neural, window: int, rows: int) -> Neural:
    return replace(
        config,
        batching=replace(config.batching, rows=rows),
        backbone=replace(config.backbone, window=window),
    )


# As with BERT, small sizes turn by places, which learns much faster on little text.
_TURNING = replace(
    LONGFORMER_BASE,
    input=TokenInput(spread=0.1),
    backbone=replace(LONGFORMER_BASE.backbone, positions="rotary", spread=0.08),
)
LONGFORMER_SMALL = _short_sighted(
    smaller(_TURNING, width=256, depth=4, heads=4, length=1024, vocabulary=8000, rate=1e-3, budget="10m"), 64, 2
)
LONGFORMER_TINY = _short_sighted(
    smaller(_TURNING, width=128, depth=2, heads=4, length=256, vocabulary=2000, rate=2e-3, budget="60s"), 16, 4
)
LONGFORMER_SIZES = {
    "small": LONGFORMER_SMALL,
    "tiny": LONGFORMER_TINY,
    "base": LONGFORMER_BASE,
    "large": LONGFORMER_LARGE,
}

# The paper's language model of characters: norms first, two heads of the upper layers dilated, rows and windows that
# grow while the rate falls by halves. Its places are distances as in Transformer-XL, which a band cannot add; rotary
# ones tell distances too.
LONGFORMER_LM_BASE = Neural(
    tokenizer=Tokenizer(model="byte", size=512),
    batching=Windows(rows=16, length=16_384, stages=(2048, 4096, 8192)),
    input=TokenInput(spread=0.1),
    backbone=Transformer(
        width=512,
        depth=12,
        heads=8,
        activation="gelu",
        positions="rotary",
        window=256,
        window_grows=True,
        dilation=(1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4),
        dilated_heads=2,
        kernel="banded",
        dropout=0.2,
    ),
    head=LanguageHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", rate=2.5e-4, betas=(0.9, 0.999), decay=0.01, clip=0.25),
        schedule=Schedule(shape="constant", warmup=10_000, parts=4, factor=0.5),
    ),
)
LONGFORMER_LM_LARGE = replace(
    LONGFORMER_LM_BASE,
    backbone=replace(LONGFORMER_LM_BASE.backbone, depth=30, dilation=(1,) * 15 + (2,) * 5 + (3,) * 5 + (4,) * 5),
)


def _staged(
    width: int, depth: int, window: int, dilation: tuple[int, ...], rows: int, stages: tuple[int, ...]
) -> Neural:
    """The same for one machine and little text: rows of the last of the lengths in the end."""
    base = LONGFORMER_LM_BASE
    backbone = replace(
        base.backbone, width=width, depth=depth, heads=4, window=window, dilation=dilation, dilated_heads=1, dropout=0.0
    )
    optimizer = replace(base.train.optimizer, rate=2e-3, betas=(0.9, 0.99), decay=0.1, clip=1.0)
    schedule = Schedule(shape="cosine", warmup=100, floor=0.05)
    return replace(
        base,
        tokenizer=Tokenizer(model="byte-bpe", size=2000),
        batching=Windows(rows=rows, length=stages[-1], stages=stages[:-1]),
        backbone=backbone,
        train=Train(budget="60s", optimizer=optimizer, schedule=schedule),
    )


LONGFORMER_LM_TINY = _staged(128, 3, 32, (1, 1, 2), 2, (64, 128, 256))
_SMALL = _staged(256, 4, 128, (1, 1, 2, 2), 1, (256, 512, 1024))
LONGFORMER_LM_SMALL = replace(
    _SMALL,
    tokenizer=replace(_SMALL.tokenizer, size=8000),
    train=replace(_SMALL.train, budget="10m", optimizer=replace(_SMALL.train.optimizer, rate=1e-3)),
)
LONGFORMER_LM_SIZES = {
    "small": LONGFORMER_LM_SMALL,
    "tiny": LONGFORMER_LM_TINY,
    "base": LONGFORMER_LM_BASE,
    "large": LONGFORMER_LM_LARGE,
}
