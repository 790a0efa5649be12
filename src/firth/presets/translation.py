"""Sequence to sequence: recurrent encoder-decoders with and without attention, and the Transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from firth.config.schema import (
    EncoderDecoder,
    FeedForward,
    Inputs,
    LayerNorm,
    LMHead,
    Neural,
    Optimizer,
    PointerGeneratorHead,
    Recurrent,
    RNNAttention,
    RotaryPositions,
    Schedule,
    Seq2Seq,
    SinusoidalPositions,
    SourceTarget,
    TextToText,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
)

# Initial range of the embeddings. With 0.1, as in language models, attention takes far longer to align words: 400
# steps on 420 pairs of four words leave luong a perplexity of 4.2, with 0.5 of 1.0 after 100.
INIT_RANGE = 0.5


def _recurrent(width: int, depth: int, cell: Any, both: bool, dropout: float, **joined: Any) -> EncoderDecoder:
    """An encoder and a decoder of one cell; both directions of a bidirectional encoder are as wide as the decoder
    together."""
    decoder = Recurrent(cell=cell, width=width, depth=depth, dropout=dropout)
    encoder = replace(decoder, width=width // 2, bidirectional="concatenate") if both else decoder
    return EncoderDecoder(encoder=encoder, decoder=decoder, **joined)


def _learning(rate: float, budget: str) -> Train:
    return Train(
        budget=budget,
        optimizer=Optimizer(name="adamw", learning_rate=rate, betas=(0.9, 0.98), gradient_clip=1.0),
        schedule=Schedule(shape="cosine", warmup_steps=100, min_ratio=0.02),
    )


def _sizes(make: Callable[[int, int, float], EncoderDecoder], rates: tuple[float, float]) -> dict[str, Neural]:
    """The sizes of a recurrent system."""
    small = Neural(
        data=TextToText(text=("world",), tasks=("translation",)),
        tokenizer=Tokenizer(model="bpe", vocabulary_size=8000),
        batching=SourceTarget(tokens_per_batch=2048, length=128),
        inputs=Inputs(text=TokenInput(dropout=0.2, init_range=INIT_RANGE)),
        backbone=make(256, 2, 0.2),
        head=LMHead(),
        objective=Seq2Seq(label_smoothing=0.1),
        train=_learning(rates[0], "20m"),
    )
    tiny = replace(
        small,
        tokenizer=replace(small.tokenizer, vocabulary_size=2000),
        batching=SourceTarget(tokens_per_batch=1024, length=64),
        inputs=Inputs(text=TokenInput(init_range=INIT_RANGE)),
        backbone=make(128, 1, 0.0),
        objective=Seq2Seq(),
        train=_learning(rates[1], "60s"),
    )
    return {"tiny": tiny, "small": small}


# Sutskever et al. 2014: no attention; the decoder starts from the encoder's final state; the source is reversed.
LSTM_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "lstm", False, dropout, attention=RNNAttention(score="none"), bridge="copy", reverse_source=True
    ),
    (2e-3, 5e-3),
)
# Bahdanau et al. 2015: bidirectional encoder, additive attention with the previous decoder state as the query.
BAHDANAU_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "gru", True, dropout, attention=RNNAttention(score="additive", query_state="previous")
    ),
    (2e-3, 5e-3),
)
# Luong et al. 2015: general attention with the current decoder state as the query, and input feeding.
LUONG_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "lstm", False, dropout, attention=RNNAttention(score="general", input_feeding=True), bridge="copy"
    ),
    (2e-3, 5e-3),
)
# See et al. 2017: pointer-generator with coverage.
POINTER_SIZES = {
    name: replace(
        size,
        data=TextToText(text=("world",), tasks=("summarisation",)),
        batching=SourceTarget(
            tokens_per_batch=4096 if name == "small" else 2048, length=400 if name == "small" else 128
        ),
        backbone=replace(size.backbone, attention=replace(size.backbone.attention, coverage=True)),
        head=PointerGeneratorHead(),
        objective=Seq2Seq(coverage_weight=1.0 if name == "small" else 0.0),
    )
    for name, size in BAHDANAU_SIZES.items()
}
# Luong and Manning 2016: a word-level model with character-level encoder and decoder for out-of-vocabulary words, as
# wide as the word-level layers: at half the width, and with fewer rare words to learn from, spelling stays behind.
HYBRID_SIZES = {
    name: replace(
        size,
        tokenizer=Tokenizer(model="word", vocabulary_size=words),
        inputs=size.inputs.replace("text", character_width=characters),
        head=LMHead(character_width=characters),
    )
    for (name, size), words, characters in zip(BAHDANAU_SIZES.items(), (700, 8000), (128, 256), strict=True)
}


def _transformer(width: int, depth: int, heads: int, inner: int, **options: Any) -> EncoderDecoder:
    feedforward = FeedForward(width=inner, activation="relu")
    stack = Transformer(width=width, depth=depth, heads=heads, feedforward=feedforward, **options)
    return EncoderDecoder(encoder=replace(stack, mask="bidirectional"), decoder=stack)


# Vaswani et al. 2017: sinusoidal positions, post-norm, shared embeddings.
_PAPER = {"positions": SinusoidalPositions(), "norm": LayerNorm(placement="post")}
TRANSFORMER_BASE = Neural(
    data=TextToText(text=("world",), tasks=("translation",)),
    tokenizer=Tokenizer(model="bpe", vocabulary_size=32_000),
    batching=SourceTarget(tokens_per_batch=8192, length=256),
    inputs=Inputs(text=TokenInput(init_range=0.08)),
    backbone=_transformer(512, 6, 8, 2048, **_PAPER, dropout=0.1, init_std=0.04),
    head=LMHead(bias=False),
    objective=Seq2Seq(label_smoothing=0.1),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", learning_rate=7e-4, betas=(0.9, 0.98), epsilon=1e-9, gradient_clip=0.0),
        schedule=Schedule(shape="inverse-sqrt", warmup_steps=4000),
    ),
)
TRANSFORMER_BIG = replace(
    TRANSFORMER_BASE, backbone=_transformer(1024, 6, 16, 4096, **_PAPER, dropout=0.3, init_std=0.03)
)


def _smaller_transformers(learning_rates: tuple[float, float], **options: Any) -> dict[str, Neural]:
    """Sizes for one machine and little text."""
    small = replace(
        TRANSFORMER_BASE,
        tokenizer=replace(TRANSFORMER_BASE.tokenizer, vocabulary_size=8000),
        batching=SourceTarget(tokens_per_batch=4096, length=128),
        inputs=Inputs(text=TokenInput(init_range=0.1)),
        backbone=_transformer(256, 3, 4, 1024, **options, dropout=0.2, init_std=0.05),
        train=_learning(learning_rates[1], "20m"),
    )
    tiny = replace(
        small,
        tokenizer=replace(TRANSFORMER_BASE.tokenizer, vocabulary_size=2000),
        batching=SourceTarget(tokens_per_batch=1024, length=64),
        backbone=_transformer(128, 2, 4, 256, **options, dropout=0.1, init_std=0.08),
        objective=Seq2Seq(),
        train=_learning(learning_rates[0], "60s"),
    )
    return {"tiny": tiny, "small": small}


TRANSFORMER_SIZES = {**_smaller_transformers((1e-3, 5e-4), **_PAPER), "base": TRANSFORMER_BASE, "big": TRANSFORMER_BIG}
# Our own: rotary positions and pre-norm, which learn faster on little text.
MODERN_SIZES = _smaller_transformers((3e-3, 1e-3), positions=RotaryPositions())
