"""Networks that label texts and networks that give texts vectors, from scratch or from a run (--start)."""

from dataclasses import replace

from firth.config.schema import (
    Apart,
    ClassHead,
    Contrastive,
    Joined,
    Neural,
    Optimizer,
    Schedule,
    Supervised,
    TaskExamples,
    Text,
    Train,
    VectorHead,
)
from firth.presets.gpt import GPT_ONE_BASE
from firth.presets.transformer import BERT_BASE, BERT_LARGE, BERT_SMALL, BERT_TINY, GPT_SMALL, GPT_TINY

_TRAIN = Train(
    budget="3 epochs",
    optimizer=Optimizer(name="adamw", rate=3e-5, betas=(0.9, 0.999), decay=0.01, clip=1.0, epsilon=1e-6),
    schedule=Schedule(shape="linear", warmup=100),
)


def _trained(rate: float, budget: str, warmup: int) -> Train:
    schedule = replace(_TRAIN.schedule, warmup=warmup)
    return replace(_TRAIN, budget=budget, optimizer=replace(_TRAIN.optimizer, rate=rate), schedule=schedule)


def _labelling(base: Neural, length: int, train: Train, pool: str = "first") -> Neural:
    """A network that labels texts."""
    return replace(
        base,
        data=TaskExamples(text=("world",)),
        batching=Joined(rows=32, length=length),
        backbone=replace(base.backbone, dropout=0.1, attention_dropout=0.1),
        head=ClassHead(pool=pool),
        objective=Supervised(),
        train=train,
    )


def _leftwards(base: Neural) -> Neural:
    """The same for a network whose tokens see those before them: the last one stands for the text, and one matrix
    gives the scores (GPT-1)."""
    batching = replace(base.batching, frame="last")
    return replace(base, batching=batching, head=ClassHead(pool="last", layer=False, bias=False))


# As Devlin et al. 2019 fine-tune, the state of [CLS] standing for the text. In sizes that may also be trained from
# scratch it is the mean of all states (300 steps of the tiny one on the world at a rate of 1e-3: accuracy 0.998, with
# [CLS] 0.841; at 2e-3 180 steps are enough).
CLASSIFIER_SIZES = {
    "small": _labelling(BERT_SMALL, 128, _trained(3e-4, "5 epochs", 100), "mean"),
    "tiny": _labelling(BERT_TINY, 64, _trained(2e-3, "60s", 30), "mean"),
    "base": _labelling(BERT_BASE, 128, _trained(3e-5, "3 epochs", 100)),
    "large": _labelling(BERT_LARGE, 128, _trained(2e-5, "3 epochs", 100)),
}
GPT_CLASSIFIER_SIZES = {
    "small": _leftwards(_labelling(GPT_SMALL, 128, _trained(3e-4, "5 epochs", 100))),
    "tiny": _leftwards(_labelling(GPT_TINY, 64, _trained(1e-3, "60s", 30))),
    "base": _leftwards(_labelling(GPT_ONE_BASE, 512, _trained(6.25e-5, "3 epochs", 100))),
}


def _encoding(base: Neural, train: Train) -> Neural:
    """A network that gives texts vectors: the mean of the states (Reimers and Gurevych 2019)."""
    return replace(
        base,
        data=TaskExamples(text=("world",), tasks=("similarity", "pairs", "translation")),
        batching=Apart(rows=64, length=64),
        backbone=replace(base.backbone, dropout=0.1, attention_dropout=0.1),
        head=VectorHead(),
        objective=Contrastive(),
        train=train,
    )


SENTENCE_SIZES = {
    "small": _encoding(BERT_SMALL, _trained(3e-4, "10m", 100)),
    "tiny": _encoding(BERT_TINY, _trained(1e-3, "60s", 30)),
    "base": _encoding(BERT_BASE, _trained(3e-5, "3 epochs", 100)),
}
# SimCSE (Gao et al. 2021) without labels: a line read twice, dropout being all that differs.
SIMCSE_SIZES = {
    size: replace(found, data=Text(text=("world",), document="line")) for size, found in SENTENCE_SIZES.items()
}
