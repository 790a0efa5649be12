"""Reformer (Kitaev et al. 2020): costs that grow nearly in proportion to the text, and memory that is flat in depth."""

from dataclasses import replace

from firth.config.schema import (
    LSH,
    Axial,
    LanguageHead,
    Local,
    Neural,
    Optimizer,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.transformer import GPT_SMALL

# 64k bytes at a time, in the sizes of the paper's model of enwik8, with the layers, chunks, places and rates of its
# public code (trax). Three layers of four look at what is near. Tokens see the last ones alike, so that what comes
# later changes nothing (in the public code all of a chunk see each other).
REFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte"),
    batching=Windows(rows=8, length=65_536),
    input=TokenInput(spread=0.1),
    backbone=Transformer(
        width=1024,
        depth=12,
        heads=8,
        inner=4096,
        activation="relu",
        positions="axial",
        axial=Axial(rows=128, columns=512, width=256),
        attends=("local", "local", "lsh", "local"),
        local=Local(chunk=128),
        lsh=LSH(rounds=2, buckets=(512,), chunk=256),
        residual="reversible",
        chunk=4096,
        attention_bias=False,
        dropout=0.2,
        attention_dropout=0.2,
    ),
    head=LanguageHead(tied=False, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", rate=7e-4, betas=(0.9, 0.98), epsilon=1e-9, clip=1.0),
        schedule=Schedule(shape="inverse-sqrt", warmup=2000),
    ),
)
REFORMER_SMALL = replace(
    REFORMER_BASE,
    tokenizer=Tokenizer(model="byte-bpe", size=8000),
    batching=Windows(rows=2, length=1024),
    backbone=replace(
        REFORMER_BASE.backbone,
        width=256,
        depth=4,
        heads=4,
        inner=1024,
        axial=Axial(),
        attends=("local", "lsh"),
        local=Local(chunk=64),
        lsh=LSH(rounds=4, chunk=64),
        chunk=0,
        dropout=0.1,
        attention_dropout=0.0,
        spread=0.05,
    ),
    head=LanguageHead(tied=True, bias=False),
    train=replace(GPT_SMALL.train, budget="10m"),
)
REFORMER_TINY = replace(
    REFORMER_SMALL,
    tokenizer=Tokenizer(model="byte-bpe", size=2000),
    batching=Windows(rows=4, length=256),
    backbone=replace(
        REFORMER_SMALL.backbone,
        width=128,
        depth=2,
        inner=512,
        local=Local(chunk=32),
        lsh=LSH(rounds=4, chunk=32),
        dropout=0.0,
    ),
    train=replace(
        REFORMER_SMALL.train,
        budget="60s",
        optimizer=replace(REFORMER_SMALL.train.optimizer, rate=4e-3),
        evaluate_batches=12,  # ten times all of `world`'s validation text is more than a minute's training reads
    ),
)
SIZES = {"small": REFORMER_SMALL, "tiny": REFORMER_TINY, "base": REFORMER_BASE}
