"""A neural system: data × tokenizer × batching × input × backbone × head × objective, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded, several
from firth.config.schema.backbones import Backbone, Recurrent
from firth.config.schema.batching import Batching, Contiguous
from firth.config.schema.data import LabelledImages, NoTokenizer, TaskExamples, Text, TextToText, Tokenizer
from firth.config.schema.heads import Head, LMHead
from firth.config.schema.inputs import PatchInput, TokenInput
from firth.config.schema.objectives import CausalLM, Objective


@dataclass(frozen=True)
class Optimizer:
    """How a gradient becomes a step."""

    name: Literal["sgd", "adam", "adamw", "adagrad"] = "adamw"
    learning_rate: float = bounded(2e-3, above=0.0)
    momentum: float = bounded(0.0, least=0.0, most=1.0)  # sgd
    betas: tuple[float, ...] = several((0.9, 0.999), least=0.0, most=0.999999)  # adam, adamw
    epsilon: float = bounded(1e-8, above=0.0)  # adam, adamw, adagrad
    weight_decay: float = bounded(0.0, least=0.0)  # not applied to norms, biases and other vectors
    gradient_clip: float = bounded(1.0, least=0.0)  # gradient clipping: maximum norm; 0: none


@dataclass(frozen=True)
class Schedule:
    """Learning-rate schedule."""

    shape: Literal["constant", "linear", "cosine", "inverse-sqrt", "plateau"] = "cosine"
    warmup_steps: int = bounded(0, least=0)  # steps of linear warm-up
    min_ratio: float = bounded(0.0, least=0.0, most=1.0)  # minimum, of the learning rate: where linear and cosine end
    factor: float = bounded(0.5, above=0.0, most=1.0)  # plateau: the learning rate is multiplied by this …
    patience: int = bounded(0, least=0)  # … after more than so many evaluations in a row without improvement
    decay_stages: int = bounded(1, least=1)  # step decay: equal stages; the next one's rate is multiplied by factor


@dataclass(frozen=True)
class Train:
    """How long, how exactly, how often."""

    budget: str = "2m"  # seconds, minutes, hours (90s, 2m, 1.5h), steps or epochs (500 steps, 13 epochs)
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    gradient_accumulation: int = bounded(1, least=1)  # micro-batches per optimizer step
    ema_decay: float = bounded(0.0, least=0.0, most=0.999999)  # exponential moving average of the weights; 0: none
    precision: Literal["float32", "bf16"] = "float32"
    evaluate_every: int = bounded(0, least=0)  # steps; 0: ten times in a run, or once an epoch if that is more often
    eval_batches: int = bounded(0, least=0)  # of the validation text at each evaluation; 0: all
    # which weights are kept: by loss, or by the task's metric (BLEU, ROUGE)
    best_by: Literal["loss", "metric"] = "loss"
    checkpoint_every: int = bounded(0, least=0)  # steps; 0: about once a minute; every evaluation saves too
    patience: int = bounded(0, least=0)  # early stopping: evaluations without improvement; 0: never
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores


@dataclass(frozen=True)
class Neural:
    """A neural system: data × input × backbone × head × objective, and how it is trained."""

    kind: ClassVar[str] = "neural"
    data: Text | TaskExamples | TextToText | LabelledImages = field(default_factory=Text)
    tokenizer: Tokenizer | NoTokenizer = field(default_factory=Tokenizer)
    batching: Batching = field(default_factory=Contiguous)
    input: TokenInput | PatchInput = field(default_factory=TokenInput)
    backbone: Backbone = field(default_factory=Recurrent)
    head: Head = field(default_factory=LMHead)
    objective: Objective = field(default_factory=CausalLM)
    train: Train = field(default_factory=Train)
    init_from: str = ""  # a pre-trained run whose tokenizer and weights initialise this one
    seed: int = bounded(1, least=0, most=2**63 - 1)  # of everything random: splits, initialisation, order, dropout
