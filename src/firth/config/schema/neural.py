"""How networks are trained, and the system of all of their parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded, several
from firth.config.schema.aims import Causal, ClassHead, CopyingHead, DetectionHead, LanguageHead, Objective, VectorHead
from firth.config.schema.batching import Batching, Contiguous
from firth.config.schema.networks import EncoderDecoder, PatchInput, Recurrent, TokenInput, Transformer, Window
from firth.config.schema.texts import NoTokenizer, Pictures, TaskExamples, TaskTexts, Text, Tokenizer


@dataclass(frozen=True)
class Optimizer:
    """How a gradient becomes a step."""

    name: Literal["sgd", "adam", "adamw", "adagrad"] = "adamw"
    rate: float = bounded(2e-3, above=0.0)
    momentum: float = bounded(0.0, least=0.0, most=1.0)  # sgd
    betas: tuple[float, ...] = several((0.9, 0.999), least=0.0, most=0.999999)  # adam, adamw
    epsilon: float = bounded(1e-8, above=0.0)  # adam, adamw, adagrad
    decay: float = bounded(0.0, least=0.0)  # of the weights; norms, biases and other vectors are left alone
    clip: float = bounded(1.0, least=0.0)  # the gradient's norm at most; 0: no limit


@dataclass(frozen=True)
class Schedule:
    """How the rate changes over the run."""

    shape: Literal["constant", "linear", "cosine", "inverse-sqrt", "plateau"] = "cosine"
    warmup: int = bounded(0, least=0)  # steps of linear rise
    floor: float = bounded(0.0, least=0.0, most=1.0)  # of the rate: where linear and cosine end, plateau stops
    factor: float = bounded(0.5, above=0.0, most=1.0)  # plateau: the rate is multiplied by this …
    patience: int = bounded(0, least=0)  # … after more than so many evaluations in a row without a gain
    parts: int = bounded(1, least=1)  # equal parts of the run: from one to the next the rate is multiplied by factor


@dataclass(frozen=True)
class Train:
    """How long, how exactly, how often."""

    budget: str = "2m"  # seconds, minutes, hours (90s, 2m, 1.5h), steps or epochs (500 steps, 13 epochs)
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    accumulate: int = bounded(1, least=1)  # micro-batches to a step
    average: float = bounded(0.0, least=0.0, most=0.999999)  # decay of a mean of the weights, kept for them; 0: none
    precision: Literal["float32", "bf16"] = "float32"
    evaluate: int = bounded(0, least=0)  # steps between; 0: ten in a run, or one an epoch if that is more often
    evaluate_batches: int = bounded(0, least=0)  # of the validation text; 0: all
    best: Literal["loss", "quality"] = "loss"  # which weights are kept: by loss, or by what is written (BLEU, ROUGE)
    save: int = bounded(0, least=0)  # steps between checkpoints; 0: about one a minute; every evaluation saves too
    patience: int = bounded(0, least=0)  # evaluations without a gain before stopping early; 0: never
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores


@dataclass(frozen=True)
class Neural:
    """A neural system: data × input × backbone × head × objective, and how it is trained."""

    kind: ClassVar[str] = "neural"
    data: Text | TaskExamples | TaskTexts | Pictures = field(default_factory=Text)
    tokenizer: Tokenizer | NoTokenizer = field(default_factory=Tokenizer)
    batching: Batching = field(default_factory=Contiguous)
    input: TokenInput | PatchInput = field(default_factory=TokenInput)
    backbone: Recurrent | Window | Transformer | EncoderDecoder = field(default_factory=Recurrent)
    head: LanguageHead | CopyingHead | DetectionHead | ClassHead | VectorHead = field(default_factory=LanguageHead)
    objective: Objective = field(default_factory=Causal)
    train: Train = field(default_factory=Train)
    start: str = ""  # a run whose tokenizer and weights this one starts from
    seed: int = bounded(1, least=0, most=2**63 - 1)  # of all that is random: splits, start values, order, dropout
