"""Pre-training by denoising and replaced tokens: BART, T5, ELECTRA, DistilBERT; and the prefix language model."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    Bucketed,
    Denoising,
    DiscriminatorHead,
    Distillation,
    EncoderDecoder,
    FeedForward,
    FullAttention,
    GatedFeedForward,
    Inputs,
    LayerNorm,
    LMHead,
    Neural,
    Optimizer,
    PrefixLM,
    ReplacedTokenDetection,
    RMSNorm,
    Schedule,
    SegmentPairs,
    Seq2Seq,
    SourceTarget,
    T5Positions,
    TextToText,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Windows,
)
from firth.presets.sizes import Size, scaled
from firth.presets.transformer import BERT_BASE, encoder


def _pair(stack: Transformer) -> EncoderDecoder:
    """An encoder and a decoder of the same layers."""
    return EncoderDecoder(replace(stack, mask="bidirectional"), replace(stack, mask="causal"))


_ADAM = Optimizer(
    name="adamw", learning_rate=1e-4, betas=(0.9, 0.98), weight_decay=0.01, gradient_clip=1.0, epsilon=1e-6
)

# BART (Lewis et al. 2020): sentence permutation and text infilling of 30 % of the tokens; BERT's layers.
_BART = Transformer(
    width=768,
    depth=6,
    heads=12,
    attention=FullAttention(dropout=0.1),
    feedforward=FeedForward(activation="gelu"),
    norm=LayerNorm(placement="post", embeddings=True),
    dropout=0.1,
)
BART_BASE = Neural(
    tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=50_265),
    batching=Bucketed(tokens_per_batch=16_384, length=512),
    inputs=Inputs(text=TokenInput(init_range=0.05)),
    backbone=_pair(_BART),
    head=LMHead(tied=True),
    objective=Denoising(
        noise=("sentence-permutation", "text-infilling"),
        noise_density=0.3,
        decoder_start="end",
        add_start_token=True,
    ),
    train=Train(budget="24h", optimizer=_ADAM, schedule=Schedule(shape="linear", warmup_steps=10_000)),
)
BART_LARGE = replace(BART_BASE, backbone=_pair(replace(_BART, width=1024, depth=12, heads=16)))
_BART_SMALLER = replace(BART_BASE, inputs=Inputs(text=TokenInput(init_range=0.1)))
BART_SIZES = {
    "tiny": scaled(_BART_SMALLER, Size(128, 2, 4, 2000, 2e-3, "60s"), Bucketed(2048, 64)),
    "small": scaled(_BART_SMALLER, Size(256, 3, 4, 8000, 1e-3, "10m"), Bucketed(4096, 128)),
    "base": BART_BASE,
    "large": BART_LARGE,
}

# T5 (Raffel et al. 2020): span corruption; relative position bias, RMS norms, no biases, unscaled attention.
_T5 = Transformer(
    width=768,
    depth=12,
    heads=12,
    positions=T5Positions(),
    attention=FullAttention(scaled=False, dropout=0.1),
    feedforward=FeedForward(width=3072, activation="relu"),
    norm=RMSNorm(epsilon=1e-6),
    bias=False,
    dropout=0.1,
)
T5_BASE = Neural(
    tokenizer=Tokenizer(model="unigram", vocabulary_size=32_100, sentinels=100),
    batching=Bucketed(tokens_per_batch=16_384, length=512),
    # variance 1, since the tied output is divided by the root of the width
    inputs=Inputs(text=TokenInput(init_range=1.7)),
    backbone=_pair(_T5),
    head=LMHead(tied=True, bias=False, scale_states=True),
    objective=Denoising(noise=("span-corruption",), noise_density=0.15, mean_span_length=3.0, decoder_start="pad"),
    train=Train(budget="24h", optimizer=_ADAM, schedule=Schedule(shape="inverse-sqrt", warmup_steps=10_000)),
)


def _t5(width: int, depth: int, heads: int, inner: int, head_width: int = 64, gated: bool = False) -> Neural:
    """A published size; v1.1 has gated feed-forward networks and an output matrix of its own."""
    feedforward = GatedFeedForward(width=inner) if gated else FeedForward(width=inner, activation="relu")
    stack = replace(
        _T5,
        width=width,
        depth=depth,
        heads=heads,
        attention=replace(_T5.attention, head_width=head_width),
        feedforward=feedforward,
    )
    head = LMHead(tied=False, bias=False) if gated else T5_BASE.head
    return replace(T5_BASE, backbone=_pair(stack), head=head)


_TINY = Size(128, 2, 4, 2000, 4e-3, "60s")
_MINI = Size(256, 3, 4, 8000, 2e-3, "10m")
T5_SIZES = {
    "tiny": scaled(T5_BASE, _TINY, Bucketed(1024, 64)),
    "mini": scaled(T5_BASE, _MINI, Bucketed(4096, 128)),
    "small": _t5(512, 6, 8, 2048),
    "base": T5_BASE,
    "large": _t5(1024, 24, 16, 4096),
    "3b": _t5(1024, 24, 32, 16_384, 128),
    "11b": _t5(1024, 24, 128, 65_536, 128),
}
_T5_GATED = _t5(768, 12, 12, 2048, gated=True)
T5_V11_SIZES = {
    "tiny": scaled(_T5_GATED, _TINY._replace(feedforward=341), Bucketed(1024, 64)),
    "mini": scaled(_T5_GATED, _MINI._replace(feedforward=682), Bucketed(4096, 128)),
    "small": _t5(512, 8, 6, 1024, gated=True),
    "base": _T5_GATED,
    "large": _t5(1024, 24, 16, 2816, gated=True),
    "xl": _t5(2048, 24, 32, 5120, gated=True),
    "xxl": _t5(4096, 24, 64, 10_240, gated=True),
}

# Text to text: every task has a source text, with a prefix that names it, and a target text.
TEXT_TO_TEXT_SIZES = {
    name: replace(
        size,
        data=TextToText(text=("world",)),
        batching=SourceTarget(tokens_per_batch=size.batching.tokens_per_batch, length=size.batching.length),
        objective=Seq2Seq(decoder_start="pad"),
    )
    for name, size in T5_SIZES.items()
}

# Prefix language model (Raffel et al. 2020): one stack of T5's layers, its prefix bidirectional.
PREFIX_BASE = replace(
    T5_BASE,
    tokenizer=Tokenizer(model="unigram", vocabulary_size=32_000),
    batching=Windows(batch_size=32, length=512),
    backbone=replace(_T5, mask="prefix"),
    objective=PrefixLM(),
)
PREFIX_SIZES = {
    "tiny": scaled(PREFIX_BASE, Size(128, 3, 4, 2000, 4e-3, "60s"), Windows(16, 64)),
    "small": scaled(PREFIX_BASE, Size(256, 4, 4, 8000, 2e-3, "10m"), Windows(16, 128)),
    "base": PREFIX_BASE,
}

# ELECTRA (Clark et al. 2020): BERT's layers in a discriminator and a smaller generator; no next-sentence prediction.
ELECTRA_BASE = replace(
    BERT_BASE,
    batching=SegmentPairs(batch_size=32, length=512),
    head=DiscriminatorHead(),
    objective=ReplacedTokenDetection(generator_size=1 / 3, mask_token_fraction=1.0, random_token_fraction=0.0),
    train=replace(BERT_BASE.train, optimizer=replace(BERT_BASE.train.optimizer, learning_rate=2e-4)),
)
ELECTRA_SMALL = replace(
    ELECTRA_BASE,
    batching=SegmentPairs(batch_size=128, length=128),
    inputs=ELECTRA_BASE.inputs.replace("text", width=128),
    backbone=replace(ELECTRA_BASE.backbone, width=256, heads=4),
    objective=replace(ELECTRA_BASE.objective, generator_size=0.25),
    train=replace(ELECTRA_BASE.train, optimizer=replace(ELECTRA_BASE.train.optimizer, learning_rate=5e-4)),
)
ELECTRA_LARGE = replace(
    ELECTRA_BASE,
    backbone=replace(ELECTRA_BASE.backbone, width=1024, depth=24, heads=16),
    objective=replace(ELECTRA_BASE.objective, mask_probability=0.25, generator_size=0.25),
)
ELECTRA_SIZES = {
    "tiny": replace(
        encoder(ELECTRA_SMALL, Size(128, 2, 4, 2000, 2e-3, "60s"), 16, 64),
        objective=replace(ELECTRA_BASE.objective, generator_size=0.5),
    ),
    "mini": encoder(ELECTRA_SMALL, Size(256, 4, 4, 8000, 1e-3, "10m"), 16, 128),
    "small": ELECTRA_SMALL,
    "base": ELECTRA_BASE,
    "large": ELECTRA_LARGE,
}

# DistilBERT (Sanh et al. 2019): BERT at half its depth, without segments. Given a teacher, its sizes are the teacher's.
DISTIL_BASE = replace(
    BERT_BASE,
    batching=SegmentPairs(batch_size=32, length=512),
    inputs=BERT_BASE.inputs.replace("text", segments=0),
    backbone=replace(BERT_BASE.backbone, depth=6),
    objective=Distillation(distil_tokens="masked"),
    train=replace(BERT_BASE.train, optimizer=replace(BERT_BASE.train.optimizer, learning_rate=5e-4)),
)
DISTIL_SIZES = {
    "tiny": encoder(DISTIL_BASE, Size(128, 1, 4, 2000, 1e-3, "60s"), 16, 64),
    "small": encoder(DISTIL_BASE, Size(256, 2, 4, 8000, 1e-3, "10m"), 16, 128),
    "base": DISTIL_BASE,
}
