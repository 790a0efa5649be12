"""Transformer language models."""

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
