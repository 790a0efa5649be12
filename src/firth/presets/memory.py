"""Transformers that remember: what was read before a row is looked at again."""

from dataclasses import replace

from firth.config.schema import (
    Contiguous,
    LanguageHead,
    Neural,
    Optimizer,
    Permuted,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
)
from firth.presets.transformer import smaller


def _remembering(base: Neural, memory: int, rows: int = 16, stages: tuple[int, ...] = ()) -> Neural:
    """The same with another memory and other rows. Larger start values learn faster on little text (300 steps of
    transformer-xl:tiny on world: test perplexity 11.3 from 0.02, 9.9 from 0.06)."""
    return replace(
        base,
        tokenizer=replace(base.tokenizer, model="byte-bpe"),  # quicker to train than unigram
        batching=replace(base.batching, rows=rows, stages=stages),
        backbone=replace(base.backbone, memory=memory, inner=0, spread=0.06),
    )


# Transformer-XL (Dai et al. 2019) as for WikiText-103, but for its adaptive softmax.
XL_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=32_000),
    batching=Contiguous(rows=60, length=150),
    input=TokenInput(spread=0.1),
    backbone=Transformer(
        width=410,
        depth=16,
        heads=10,
        inner=2100,
        activation="relu",
        norm_at="post",
        positions="xl",
        memory=150,
        attention_bias=False,
        dropout=0.1,
    ),
    head=LanguageHead(tied=True),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", rate=2.5e-4, clip=0.25),
        schedule=Schedule(shape="cosine"),
    ),
)
XL_LARGE = replace(
    XL_BASE,
    batching=Contiguous(rows=128, length=384),
    backbone=replace(
        XL_BASE.backbone, width=1024, depth=18, heads=16, inner=4096, memory=384, dropout=0.2, attention_dropout=0.2
    ),
)
XL_SMALL = _remembering(
    smaller(XL_BASE, width=256, depth=4, heads=4, length=128, vocabulary=8000, rate=1e-3, budget="10m"), 128
)
XL_TINY = _remembering(
    smaller(XL_BASE, width=128, depth=3, heads=4, length=64, vocabulary=2000, rate=2e-3, budget="60s"), 64, rows=8
)
XL_SIZES = {"small": XL_SMALL, "tiny": XL_TINY, "base": XL_BASE, "large": XL_LARGE}

# XLNet (Yang et al. 2019).
XLNET_BASE = Neural(
    tokenizer=Tokenizer(model="unigram", size=32_000),
    batching=Contiguous(rows=32, length=512),
    input=TokenInput(spread=0.1),
    backbone=Transformer(
        width=768,
        depth=12,
        heads=12,
        activation="gelu",
        norm_at="post",
        epsilon=1e-12,
        positions="xl",
        sees="permuted",
        memory=384,
        relative_segments=True,
        attention_bias=False,
        dropout=0.1,
        attention_dropout=0.1,
    ),
    head=LanguageHead(tied=True),
    objective=Permuted(),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", rate=4e-4, decay=0.01, clip=1.0, epsilon=1e-6),
        schedule=Schedule(shape="linear", warmup=10_000),
    ),
)
XLNET_LARGE = replace(XLNET_BASE, backbone=replace(XLNET_BASE.backbone, width=1024, depth=24, heads=16))
XLNET_SMALL = _remembering(
    smaller(XLNET_BASE, width=256, depth=4, heads=4, length=128, vocabulary=8000, rate=1e-3, budget="10m"), 128
)
XLNET_TINY = _remembering(
    smaller(XLNET_BASE, width=128, depth=3, heads=4, length=64, vocabulary=2000, rate=2e-3, budget="60s"), 64, rows=8
)
# Where there is little text, more of it is asked: half, of 300 steps of the tiny size on world, gives 15 permuted
# perplexity where a sixth gives 32; and from left to right 0.94 bits per byte where that gives 1.16.
XLNET_SMALL, XLNET_TINY = (
    replace(size, objective=Permuted(share=0.5, ordered="all")) for size in (XLNET_SMALL, XLNET_TINY)
)
XLNET_SIZES = {"small": XLNET_SMALL, "tiny": XLNET_TINY, "base": XLNET_BASE, "large": XLNET_LARGE}

# Shortformer (Press et al. 2021): the Transformer of Baevski and Auli (2019), norms first, with short rows that look
# at the row before; shorter ones still in the first half of training.
SHORTFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=32_000),
    batching=Contiguous(rows=18, length=512, stages=(128,)),
    input=TokenInput(spread=0.1),
    backbone=Transformer(
        width=1024,
        depth=16,
        heads=8,
        inner=4096,
        activation="relu",
        norm_at="pre",
        positions="infused",
        memory=512,
        dropout=0.3,
        attention_dropout=0.1,
    ),
    head=LanguageHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adamw", rate=5e-4, betas=(0.9, 0.99), decay=0.1, clip=0.1),
        schedule=Schedule(shape="cosine", warmup=16_000),
    ),
)
SHORTFORMER_SMALL = _remembering(
    smaller(SHORTFORMER_BASE, width=256, depth=4, heads=4, length=128, vocabulary=8000, rate=1e-3, budget="10m"),
    128,
    stages=(32,),
)
SHORTFORMER_TINY = _remembering(
    smaller(SHORTFORMER_BASE, width=128, depth=3, heads=4, length=64, vocabulary=2000, rate=4e-3, budget="60s"),
    64,
    rows=8,
    stages=(16,),
)
SHORTFORMER_SIZES = {"small": SHORTFORMER_SMALL, "tiny": SHORTFORMER_TINY, "base": SHORTFORMER_BASE}
