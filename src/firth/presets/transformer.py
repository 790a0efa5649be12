"""Transformer language models."""

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


def smaller(
    base: Neural, *, width: int, depth: int, heads: int, length: int, vocabulary: int, rate: float, budget: str
) -> Neural:
    """A paper's system in a size for one machine and little text."""
    train = replace(
        base.train,
        budget=budget,
        optimizer=replace(base.train.optimizer, rate=rate),
        schedule=replace(base.train.schedule, warmup=100),
    )
    return replace(
        base,
        tokenizer=replace(base.tokenizer, size=vocabulary),
        batching=replace(base.batching, rows=16, length=length),
        backbone=replace(base.backbone, width=width, depth=depth, heads=heads, dropout=0.0, attention_dropout=0.0),
        train=train,
    )


# GPT-2's block (Radford et al. 2019) in sizes for one machine. Two things differ, since they learn faster on little
# text (500 steps of the tiny size on python-docs: validation perplexity 146 as in GPT-2, 103 with longer vectors at the
# start and a higher rate, 88 with rotary positions too).
GPT_SMALL = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=8000),
    batching=Windows(rows=8, length=128),
    input=TokenInput(spread=0.1),
    backbone=Transformer(width=256, depth=4, heads=4, positions="rotary", dropout=0.1),
    head=LanguageHead(tied=True, bias=False),
    train=Train(
        budget="90s",
        optimizer=Optimizer(name="adamw", rate=1e-3, betas=(0.9, 0.99), decay=0.1, clip=1.0),
        schedule=Schedule(shape="cosine", warmup=100, floor=0.05),
    ),
)
GPT_TINY = replace(
    GPT_SMALL,
    tokenizer=replace(GPT_SMALL.tokenizer, size=2000),
    batching=Windows(rows=8, length=64),
    backbone=replace(GPT_SMALL.backbone, width=128, depth=3, dropout=0.0),
    train=replace(GPT_SMALL.train, budget="20s", optimizer=replace(GPT_SMALL.train.optimizer, rate=4e-3)),
)
GPT_MEDIUM = replace(
    GPT_SMALL,
    batching=Windows(rows=8, length=256),
    backbone=replace(GPT_SMALL.backbone, width=384, depth=6, heads=6),
    train=replace(GPT_SMALL.train, budget="20m"),
)
GPT_SIZES = {"small": GPT_SMALL, "tiny": GPT_TINY, "medium": GPT_MEDIUM}

# BERT (Devlin et al. 2019): its block, its masks redrawn each time, without the prediction of next sentences, which
# does not help (Liu et al. 2019) and can be switched on.
BERT_BASE = Neural(
    tokenizer=Tokenizer(model="wordpiece", size=30_522, lower="yes"),
    batching=Framed(rows=32, length=512),
    input=TokenInput(segments=2, spread=0.05),
    backbone=Transformer(
        width=768,
        depth=12,
        heads=12,
        activation="gelu",
        norm_at="post",
        norm_input=True,
        epsilon=1e-12,
        sees="all",
        dropout=0.1,
        attention_dropout=0.1,
    ),
    head=LanguageHead(tied=True, transform=True),
    objective=Masked(),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", rate=1e-4, betas=(0.9, 0.999), decay=0.01, clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup=10_000),
    ),
)
# Small sizes turn by places: 500 steps of the tiny one on world leave a masked perplexity of 8.5, learned places 45.5.
_TURNING = replace(
    BERT_BASE,
    input=TokenInput(segments=2, spread=0.1),
    backbone=replace(BERT_BASE.backbone, positions="rotary", spread=0.08),
)
BERT_SMALL = smaller(_TURNING, width=256, depth=4, heads=4, length=128, vocabulary=8000, rate=1e-3, budget="10m")
BERT_TINY = smaller(_TURNING, width=128, depth=2, heads=4, length=64, vocabulary=2000, rate=2e-3, budget="60s")
BERT_LARGE = replace(BERT_BASE, backbone=replace(BERT_BASE.backbone, width=1024, depth=24, heads=16))
BERT_SIZES = {"small": BERT_SMALL, "tiny": BERT_TINY, "base": BERT_BASE, "large": BERT_LARGE}
