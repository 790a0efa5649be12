"""GPT-1 and GPT-2 as their papers have them, for those who can train them or go on from public weights; and smaller."""

from dataclasses import replace

from firth.config.schema import (
    LanguageHead,
    Neural,
    Optimizer,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.transformer import smaller

# Radford et al. 2018: norms after adding, places learned, an output that is the input's table.
GPT_ONE_BASE = Neural(
    tokenizer=Tokenizer(model="bpe", size=40_478, lower="yes"),
    batching=Windows(rows=64, length=512),
    input=TokenInput(spread=0.035),  # as uneven as the paper's normal values of 0.02
    backbone=Transformer(width=768, depth=12, heads=12, norm_at="post", dropout=0.1, attention_dropout=0.1),
    head=LanguageHead(tied=True, bias=False),
    train=Train(
        budget="100 epochs",
        optimizer=Optimizer(name="adamw", rate=2.5e-4, decay=0.01, clip=1.0),
        schedule=Schedule(shape="cosine", warmup=2000),
    ),
)
# Radford et al. 2019: norms before each part and one at the end, 1024 places, bytes, 512 rows to a step. The paper does
# not tell the rates; these are GPT-3's for the same sizes (Brown et al. 2020).
GPT_TWO_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=50_257),
    batching=Windows(rows=16, length=1024),
    input=TokenInput(spread=0.035),
    backbone=Transformer(width=768, depth=12, heads=12, dropout=0.1, attention_dropout=0.1),
    head=LanguageHead(tied=True, bias=False),
    train=Train(
        budget="24h",
        accumulate=32,
        optimizer=Optimizer(name="adamw", rate=6e-4, betas=(0.9, 0.95), decay=0.1, clip=1.0),
        schedule=Schedule(shape="cosine", warmup=2000, floor=0.1),
    ),
)


def _larger(width: int, depth: int, heads: int, rate: float) -> Neural:
    train = GPT_TWO_BASE.train
    return replace(
        GPT_TWO_BASE,
        backbone=replace(GPT_TWO_BASE.backbone, width=width, depth=depth, heads=heads),
        train=replace(train, optimizer=replace(train.optimizer, rate=rate)),
    )


def _little(base: Neural, width: int, depth: int, length: int, vocabulary: int, rate: float, budget: str) -> Neural:
    """For one machine: longer vectors at the start, which learn faster; places stay learned, so that it can go out."""
    found = smaller(
        base, width=width, depth=depth, heads=4, length=length, vocabulary=vocabulary, rate=rate, budget=budget
    )
    return replace(
        found,
        input=TokenInput(spread=0.1),
        backbone=replace(found.backbone, spread=0.08),
        train=replace(found.train, accumulate=1),
    )


GPT_ONE_SIZES = {
    "small": _little(GPT_ONE_BASE, 256, 4, 128, 8000, 1e-3, "10m"),
    "tiny": _little(GPT_ONE_BASE, 128, 3, 64, 2000, 2e-3, "60s"),
    "base": GPT_ONE_BASE,
}
GPT_TWO_SIZES = {
    "small": _little(GPT_TWO_BASE, 256, 4, 128, 8000, 1e-3, "10m"),
    "tiny": _little(GPT_TWO_BASE, 128, 3, 64, 2000, 4e-3, "60s"),
    "base": GPT_TWO_BASE,
    "medium": _larger(1024, 24, 16, 3e-4),
    "large": _larger(1280, 36, 20, 2.5e-4),
}
