"""Networks that read one text and write another: recurrent ones, with and without attention, and the Transformer."""

from dataclasses import replace

from firth.config.schema import (
    CopyingHead,
    EncoderDecoder,
    LanguageHead,
    Looking,
    Neural,
    Optimizer,
    Pairs,
    Recurrent,
    Schedule,
    TaskTexts,
    TokenInput,
    Tokenizer,
    Train,
    Transformer,
    Written,
)

# Of the words' first vectors. With 0.1, as in language models, attention takes far longer to find the words that belong
# together: 400 steps on 420 pairs of four words leave Luong's network a perplexity of 4.2, with 0.5 of 1.0 after 100.
SPREAD = 0.5


def _recurrent(width: int, depth: int, cell: str, both: bool, dropout: float, **joined: object) -> EncoderDecoder:
    """An encoder and a decoder of one cell; one that reads both ways has states of the same width in all."""
    decoder = Recurrent(cell=cell, width=width, depth=depth, dropout=dropout)
    encoder = replace(decoder, width=width // 2, directions="concatenated") if both else decoder
    return EncoderDecoder(encoder=encoder, decoder=decoder, **joined)


def _learning(rate: float, budget: str) -> Train:
    return Train(
        budget=budget,
        optimizer=Optimizer(name="adamw", rate=rate, betas=(0.9, 0.98), clip=1.0),
        schedule=Schedule(shape="cosine", warmup=100, floor=0.02),
    )


def _sizes(make, rates: tuple[float, float]) -> dict[str, Neural]:
    """The sizes of a recurrent system."""
    small = Neural(
        data=TaskTexts(text=("world",), tasks=("translation",)),
        tokenizer=Tokenizer(model="bpe", size=8000),
        batching=Pairs(tokens=2048, length=128),
        input=TokenInput(dropout=0.2, spread=SPREAD),
        backbone=make(256, 2, 0.2),
        head=LanguageHead(),
        objective=Written(smoothing=0.1),
        train=_learning(rates[0], "20m"),
    )
    tiny = replace(
        small,
        tokenizer=replace(small.tokenizer, size=2000),
        batching=Pairs(tokens=1024, length=64),
        input=TokenInput(spread=SPREAD),
        backbone=make(128, 1, 0.0),
        objective=Written(),
        train=_learning(rates[1], "60s"),
    )
    return {"small": small, "tiny": tiny}


# Sutskever et al. 2014: all that the decoder knows of the source, read backwards, is the encoder's last state.
LSTM_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "lstm", False, dropout, looks=Looking(score="none"), bridge="same", reverse=True
    ),
    (2e-3, 5e-3),
)
# Bahdanau et al. 2015: read both ways; the state before a token decides where to look, what is seen is read with it.
BAHDANAU_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "gru", True, dropout, looks=Looking(score="additive", when="before")
    ),
    (2e-3, 5e-3),
)
# Luong et al. 2015: the state after a token decides; what was made of both is read with the next.
LUONG_SIZES = _sizes(
    lambda width, depth, dropout: _recurrent(
        width, depth, "lstm", False, dropout, looks=Looking(score="general", feeding=True), bridge="same"
    ),
    (2e-3, 5e-3),
)
# See et al. 2017: words of the source may be copied, and looking twice at the same ones is counted.
POINTER_SIZES = {
    name: replace(
        size,
        data=TaskTexts(text=("world",), tasks=("summarisation",)),
        batching=Pairs(tokens=4096 if name == "small" else 2048, length=400 if name == "small" else 128),
        backbone=replace(size.backbone, looks=replace(size.backbone.looks, coverage=True)),
        head=CopyingHead(),
        objective=Written(coverage=1.0 if name == "small" else 0.0),
    )
    for name, size in BAHDANAU_SIZES.items()
}
# Luong and Manning 2016: a network of words; those that its vocabulary lacks are read and spelled by letters, in
# networks as wide as that of words: at half the width, and with fewer rare words to learn from, spelling stays behind.
HYBRID_SIZES = {
    name: replace(
        size,
        tokenizer=Tokenizer(model="word", size=words),
        input=replace(size.input, letters=letters),
        head=LanguageHead(letters=letters),
    )
    for (name, size), words, letters in zip(BAHDANAU_SIZES.items(), (8000, 700), (256, 128), strict=True)
}


def _transformer(width: int, depth: int, heads: int, inner: int, **parts: object) -> EncoderDecoder:
    stack = Transformer(width=width, depth=depth, heads=heads, inner=inner, activation="relu", **parts)
    return EncoderDecoder(encoder=replace(stack, sees="all"), decoder=stack)


# Vaswani et al. 2017.
TRANSFORMER_BASE = Neural(
    data=TaskTexts(text=("world",), tasks=("translation",)),
    tokenizer=Tokenizer(model="bpe", size=32_000),
    batching=Pairs(tokens=8192, length=256),
    input=TokenInput(spread=0.08),
    backbone=_transformer(512, 6, 8, 2048, positions="sinusoidal", norm_at="post", dropout=0.1, spread=0.04),
    head=LanguageHead(bias=False),
    objective=Written(smoothing=0.1),
    train=Train(
        budget="24h",
        optimizer=Optimizer(name="adam", rate=7e-4, betas=(0.9, 0.98), epsilon=1e-9, clip=0.0),
        schedule=Schedule(shape="inverse-sqrt", warmup=4000),
    ),
)
# Smaller ones turn by places and norm before each part, which learns faster on little text.
TRANSFORMER_SMALL = replace(
    TRANSFORMER_BASE,
    tokenizer=replace(TRANSFORMER_BASE.tokenizer, size=8000),
    batching=Pairs(tokens=4096, length=128),
    input=TokenInput(spread=0.1),
    backbone=_transformer(256, 3, 4, 1024, positions="rotary", dropout=0.2, spread=0.05),
    train=_learning(1e-3, "20m"),
)
TRANSFORMER_TINY = replace(
    TRANSFORMER_SMALL,
    tokenizer=replace(TRANSFORMER_BASE.tokenizer, size=2000),
    batching=Pairs(tokens=1024, length=64),
    backbone=_transformer(128, 2, 4, 256, positions="rotary", spread=0.08),
    objective=Written(),
    train=_learning(3e-3, "60s"),
)
TRANSFORMER_SIZES = {"small": TRANSFORMER_SMALL, "tiny": TRANSFORMER_TINY, "base": TRANSFORMER_BASE}
