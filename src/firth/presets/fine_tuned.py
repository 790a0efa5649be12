"""Networks that label texts and networks that give texts vectors, from scratch or from a run (--init-from)."""

from dataclasses import replace
from typing import Literal

from firth.config.schema import (
    ChoiceHead,
    ChoiceQuestions,
    ChoiceRows,
    ClassificationHead,
    Contrastive,
    Neural,
    Optimizer,
    PoolingHead,
    QuestionContext,
    Questions,
    Schedule,
    SentencePairs,
    SpanHead,
    Supervised,
    TaskExamples,
    Text,
    Train,
    TwoTowers,
)
from firth.presets.transformer import BERT_BASE, BERT_LARGE, BERT_MINI, BERT_TINY, GPT1_BASE, GPT1_SIZES

_TRAIN = Train(
    budget="3 epochs",
    optimizer=Optimizer(
        name="adamw", learning_rate=3e-5, betas=(0.9, 0.999), weight_decay=0.01, gradient_clip=1.0, epsilon=1e-6
    ),
    schedule=Schedule(shape="linear", warmup_steps=100),
)


def _trained(rate: float, budget: str, warmup: int) -> Train:
    schedule = replace(_TRAIN.schedule, warmup_steps=warmup)
    return replace(_TRAIN, budget=budget, optimizer=replace(_TRAIN.optimizer, learning_rate=rate), schedule=schedule)


def _classifier(base: Neural, length: int, train: Train, pooling: Literal["first", "mean"] = "first") -> Neural:
    """A sequence classifier."""
    return replace(
        base,
        data=TaskExamples(text=("world",)),
        batching=SentencePairs(batch_size=32, length=length),
        backbone=replace(base.backbone, dropout=0.1, attention=replace(base.backbone.attention, dropout=0.1)),
        head=ClassificationHead(pooling=pooling),
        objective=Supervised(),
        train=train,
    )


def _causal(base: Neural) -> Neural:
    """The same for a causal model: the last token's hidden state, and a linear layer without bias (GPT-1)."""
    batching = replace(base.batching, layout="cls-last")
    return replace(base, batching=batching, head=ClassificationHead(pooling="last", pooler=False, bias=False))


# Our own: mean pooling, which learns faster from scratch (300 steps of the tiny one on the world at a learning rate of
# 1e-3: accuracy 0.998, with [CLS] 0.841).
CLASSIFIER_SIZES = {
    "tiny": _classifier(BERT_TINY, 64, _trained(2e-3, "60s", 30), "mean"),
    "mini": _classifier(BERT_MINI, 128, _trained(3e-4, "5 epochs", 100), "mean"),
}
# As Devlin et al. 2019 fine-tune: with the hidden state of [CLS].
BERT_CLASSIFIER_SIZES = {
    "tiny": _classifier(BERT_TINY, 64, _trained(2e-3, "60s", 30)),
    "mini": _classifier(BERT_MINI, 128, _trained(3e-4, "5 epochs", 100)),
    "base": _classifier(BERT_BASE, 128, _trained(3e-5, "3 epochs", 100)),
    "large": _classifier(BERT_LARGE, 128, _trained(2e-5, "3 epochs", 100)),
}
GPT_CLASSIFIER_SIZES = {
    "tiny": _causal(_classifier(GPT1_SIZES["tiny"], 64, _trained(1e-3, "60s", 30))),
    "small": _causal(_classifier(GPT1_SIZES["small"], 128, _trained(3e-4, "5 epochs", 100))),
    "base": _causal(_classifier(GPT1_BASE, 512, _trained(6.25e-5, "3 epochs", 100))),
}

# Sentence-BERT's classification objective: both texts through one network, then a softmax over (u, v, |u - v|).
SIAMESE_SIZES = {
    size: replace(
        config,
        data=replace(config.data, tasks=("pairs",)),
        batching=replace(config.batching, pair_encoding="siamese"),
        head=replace(config.head, pooling="mean", combine="difference", pooler=False),
    )
    for size, config in BERT_CLASSIFIER_SIZES.items()
}


def _question_answering(base: Neural, length: int, stride: int, train: Train) -> Neural:
    """Extractive question answering: start and end of the answer, or [CLS] where there is none."""
    return replace(
        base,
        data=Questions(),
        batching=QuestionContext(batch_size=16, length=length, stride=stride),
        backbone=replace(base.backbone, dropout=0.1, attention=replace(base.backbone.attention, dropout=0.1)),
        head=SpanHead(dropout=0.1),
        objective=Supervised(),
        train=train,
    )


BERT_QA_SIZES = {
    "tiny": _question_answering(BERT_TINY, 96, 48, _trained(2e-3, "120s", 30)),
    "mini": _question_answering(BERT_MINI, 384, 128, _trained(3e-4, "5 epochs", 100)),
    "base": _question_answering(BERT_BASE, 384, 128, _trained(3e-5, "2 epochs", 100)),
    "large": _question_answering(BERT_LARGE, 384, 128, _trained(3e-5, "2 epochs", 100)),
}

# A score for each choice from the state of [CLS], and a softmax over the choices.
BERT_CHOICE_SIZES = {
    size: replace(
        config,
        data=ChoiceQuestions(),
        batching=ChoiceRows(batch_size=16, length=config.batching.length),
        head=ChoiceHead(),
    )
    for size, config in BERT_CLASSIFIER_SIZES.items()
}


def _encoding(base: Neural, train: Train) -> Neural:
    """A sentence encoder with mean pooling (Reimers and Gurevych 2019)."""
    return replace(
        base,
        data=TaskExamples(text=("world",), tasks=("similarity", "pairs", "translation")),
        batching=TwoTowers(batch_size=64, length=64),
        backbone=replace(base.backbone, dropout=0.1, attention=replace(base.backbone.attention, dropout=0.1)),
        head=PoolingHead(),
        objective=Contrastive(),
        train=train,
    )


SENTENCE_SIZES = {
    "tiny": _encoding(BERT_TINY, _trained(1e-3, "60s", 30)),
    "mini": _encoding(BERT_MINI, _trained(3e-4, "10m", 100)),
    "base": _encoding(BERT_BASE, _trained(3e-5, "3 epochs", 100)),
}
# Unsupervised SimCSE (Gao et al. 2021): a line encoded twice with different dropout is its own positive.
SIMCSE_SIZES = {
    size: replace(config, data=Text(text=("world",), document="line")) for size, config in SENTENCE_SIZES.items()
}
