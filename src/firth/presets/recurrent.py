"""Recurrent language models."""

from dataclasses import replace

from firth.config.schema import (
    Contiguous,
    LanguageHead,
    Neural,
    Optimizer,
    Recurrent,
    Schedule,
    TokenInput,
    Tokenizer,
    Train,
    Window,
)

LSTM_SMALL = Neural(
    tokenizer=Tokenizer(model="byte-bpe", size=8000),
    batching=Contiguous(rows=20, length=35),
    input=TokenInput(dropout=0.1),
    backbone=Recurrent(cell="lstm", width=200, depth=2, dropout=0.1),
    head=LanguageHead(tied=True),
    train=Train(
        budget="90s",
        optimizer=Optimizer(name="adamw", rate=5e-3, clip=1.0),
        schedule=Schedule(shape="cosine", warmup=50, floor=0.02),
    ),
)
LSTM_TINY = replace(
    LSTM_SMALL,
    tokenizer=replace(LSTM_SMALL.tokenizer, size=2000),
    input=replace(LSTM_SMALL.input, dropout=0.0),
    backbone=replace(LSTM_SMALL.backbone, width=96, depth=1, dropout=0.0),
    train=replace(LSTM_SMALL.train, budget="20s", optimizer=replace(LSTM_SMALL.train.optimizer, rate=1e-2)),
)
LSTM_MEDIUM = replace(
    LSTM_SMALL,
    input=replace(LSTM_SMALL.input, dropout=0.5),
    backbone=replace(LSTM_SMALL.backbone, width=650, dropout=0.5),
    train=replace(LSTM_SMALL.train, budget="20m", optimizer=replace(LSTM_SMALL.train.optimizer, rate=2e-3)),
)
LSTM_SIZES = {"small": LSTM_SMALL, "tiny": LSTM_TINY, "medium": LSTM_MEDIUM}


def _with(**change: object) -> dict[str, Neural]:
    """The same sizes with another backbone."""
    return {name: replace(size, backbone=replace(size.backbone, **change)) for name, size in LSTM_SIZES.items()}


GRU_SIZES = _with(cell="gru")


def _around(size: Neural) -> Neural:
    """Two simple layers learn slowly without a way around them, and hardly at the LSTM's rate: 800 steps of the small
    size on Penn Treebank leave a validation perplexity of 694 as the LSTM is trained, and of 263 so."""
    train = replace(size.train, optimizer=replace(size.train.optimizer, rate=2e-3))
    return replace(size, backbone=replace(size.backbone, residual=True), train=train)


_RNN = _with(cell="tanh", orthogonal=True)
RNN_SIZES = {name: _around(size) if size.backbone.depth > 1 else size for name, size in _RNN.items()}
WINDOW_SIZES = {
    name: replace(size, backbone=Window(words=5, width=size.backbone.width, dropout=size.backbone.dropout))
    for name, size in LSTM_SIZES.items()
}
