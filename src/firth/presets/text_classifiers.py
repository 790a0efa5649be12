"""Classifiers and regressors of texts that learn from scratch: averaged vectors, convolutions, recurrent networks."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    ClassificationHead,
    Convolutional,
    Inputs,
    Neural,
    NoBackbone,
    Optimizer,
    Recurrent,
    Schedule,
    SentencePairs,
    Supervised,
    TaskExamples,
    TokenInput,
    Tokenizer,
    Train,
)

_TRAIN = Train(
    budget="10 epochs",
    optimizer=Optimizer(name="adam", learning_rate=1e-3, gradient_clip=1.0),
    schedule=Schedule(shape="linear"),
)
# Mean of word vectors through one hidden layer.
AVERAGED = Neural(
    data=TaskExamples(text=("world",)),
    tokenizer=Tokenizer(model="word", vocabulary_size=50_000, lowercase="yes"),
    batching=SentencePairs(batch_size=50, length=512, layout="plain"),
    inputs=Inputs(text=TokenInput(dropout=0.3, init_range=0.25)),
    backbone=NoBackbone(width=300),
    head=ClassificationHead(pooling="mean", dropout=0.3),
    objective=Supervised(),
    train=_TRAIN,
)
# CNN-rand of Kim 2014: 100 feature maps of each width, the norm of a label's weights at most 3.
CNN = replace(
    AVERAGED,
    inputs=Inputs(text=TokenInput(width=300, init_range=0.25)),
    backbone=Convolutional(filters=100, widths=(3, 4, 5)),
    head=ClassificationHead(pooling="max", pooler=False, dropout=0.5, max_norm=3.0),
)


def _recurrent(cell: Recurrent, pooling: str) -> Neural:
    return replace(
        AVERAGED,
        inputs=Inputs(text=TokenInput(width=300, dropout=0.5, init_range=0.25)),
        backbone=cell,
        head=ClassificationHead(pooling=pooling, pooler=False, dropout=0.5),
    )


LSTM = _recurrent(Recurrent(cell="lstm", width=150, depth=1), "last")
BILSTM = _recurrent(Recurrent(cell="lstm", width=150, depth=1, bidirectional="concatenate"), "last")
BIGRU_ATTENTION = _recurrent(Recurrent(cell="gru", width=100, depth=1, bidirectional="concatenate"), "attention")


def _tiny(config: Neural, **backbone: int) -> Neural:
    """Small enough for a minute on the world."""
    narrow = config.inputs.replace("text", width=0 if isinstance(config.backbone, NoBackbone) else 48)
    train = replace(config.train, budget="30s", optimizer=replace(config.train.optimizer, learning_rate=3e-3))
    return replace(config, inputs=narrow, backbone=replace(config.backbone, **backbone), train=train)


AVERAGED_SIZES = {"tiny": _tiny(AVERAGED, width=64), "small": AVERAGED}
CNN_SIZES = {"tiny": _tiny(CNN, filters=24), "small": CNN}
LSTM_SIZES = {"tiny": _tiny(LSTM, width=64), "small": LSTM}
BILSTM_SIZES = {"tiny": _tiny(BILSTM, width=48), "small": BILSTM}
BIGRU_ATTENTION_SIZES = {"tiny": _tiny(BIGRU_ATTENTION, width=48), "small": BIGRU_ATTENTION}
REGRESSOR_SIZES = {
    size: replace(
        config,
        data=TaskExamples(text=("world",), tasks=("similarity", "regression")),
        head=replace(config.head, problem_type="regression"),
    )
    for size, config in BILSTM_SIZES.items()
}
