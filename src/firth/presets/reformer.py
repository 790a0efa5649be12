"""Reformer: LSH attention, reversible layers and axial positions (Kitaev et al. 2020)."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    LSH,
    AxialPositions,
    FeedForward,
    Inputs,
    LMHead,
    Local,
    Neural,
    Optimizer,
    ReformerAttention,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.transformer import TRANSFORMER_LM_SMALL

# 64k bytes at a time, in the sizes of the paper's model of enwik8, with the layers, chunks, positions and learning
# rate of its public code (trax). Three layers of four have local attention. Tokens attend to earlier ones of their
# bucket, so that later tokens change nothing (in the public code all of a chunk attend to each other).
REFORMER_BASE = Neural(
    tokenizer=Tokenizer(model="byte"),
    batching=Windows(batch_size=8, length=65_536),
    inputs=Inputs(text=TokenInput(init_range=0.1)),
    backbone=Transformer(
        width=1024,
        depth=12,
        heads=8,
        positions=AxialPositions(rows=128, columns=512, width=256),
        attention=ReformerAttention(
            layers=("local", "local", "lsh", "local"),
            local=Local(chunk=128),
            lsh=LSH(rounds=2, buckets=(512,), chunk=256),
            bias=False,
            dropout=0.2,
        ),
        feedforward=FeedForward(width=4096, activation="relu", chunk=4096),
        residual="reversible",
        dropout=0.2,
    ),
    head=LMHead(tied=False, bias=False),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", learning_rate=7e-4, betas=(0.9, 0.98), epsilon=1e-9, gradient_clip=1.0),
        schedule=Schedule(shape="inverse-sqrt", warmup_steps=2000),
    ),
)
REFORMER_SMALL = replace(
    REFORMER_BASE,
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=8000),
    batching=Windows(batch_size=2, length=1024),
    backbone=replace(
        REFORMER_BASE.backbone,
        width=256,
        depth=4,
        heads=4,
        positions=AxialPositions(),
        attention=ReformerAttention(local=Local(chunk=64), lsh=LSH(rounds=4, chunk=64), bias=False),
        feedforward=FeedForward(width=1024, activation="relu"),
        dropout=0.1,
        init_std=0.05,
    ),
    train=replace(TRANSFORMER_LM_SMALL.train, budget="10m"),
)
REFORMER_TINY = replace(
    REFORMER_SMALL,
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=2000),
    batching=Windows(batch_size=4, length=256),
    backbone=replace(
        REFORMER_SMALL.backbone,
        width=128,
        depth=2,
        attention=ReformerAttention(local=Local(chunk=32), lsh=LSH(rounds=4, chunk=32), bias=False),
        feedforward=FeedForward(width=512, activation="relu"),
        dropout=0.1,
    ),
    train=replace(
        REFORMER_SMALL.train,
        budget="60s",
        optimizer=replace(REFORMER_SMALL.train.optimizer, learning_rate=4e-3),
        eval_batches=12,  # ten times all of `world`'s validation text is more than a minute's training reads
    ),
)
SIZES = {"tiny": REFORMER_TINY, "small": REFORMER_SMALL, "base": REFORMER_BASE}
