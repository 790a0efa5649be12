"""A neural system: data × tokenizer × batching × inputs × backbone × head × objective, and how it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from firth.config.core import bounded, several
from firth.config.schema.adapters import Adapter, NoAdapter
from firth.config.schema.backbones import Backbone, Recurrent
from firth.config.schema.batching import Batching, Contiguous
from firth.config.schema.data import (
    ChoiceQuestions,
    Dialogues,
    LabelledImages,
    NoTokenizer,
    Questions,
    TaggedWords,
    TaskExamples,
    Text,
    TextToText,
    Tokenizer,
)
from firth.config.schema.heads import Head, LMHead
from firth.config.schema.inputs import Input, Inputs
from firth.config.schema.objectives import CausalLM, Objective
from firth.config.schema.token_inputs import TokenInput
from firth.errors import FirthError


@dataclass(frozen=True)
class Optimizer:
    """The optimizer."""

    name: Literal["sgd", "adam", "adamw", "adagrad"] = "adamw"  # adam with weight decay is adamw
    learning_rate: float = bounded(2e-3, above=0.0)  # peak learning rate
    momentum: float = bounded(0.0, least=0.0, most=1.0)  # sgd: momentum
    betas: tuple[float, ...] = several((0.9, 0.999), least=0.0, most=0.999999)  # adam, adamw: decay of running means
    epsilon: float = bounded(1e-8, above=0.0)  # adam, adamw, adagrad: added to the denominator
    weight_decay: float = bounded(0.0, least=0.0)  # not applied to norms, biases and other vectors
    gradient_clip: float = bounded(1.0, least=0.0)  # gradient clipping: maximum norm; 0: none
    # layer-wise learning-rate decay (discriminative fine-tuning): the learning rate of a layer, as a fraction of that
    # of the layer above it, from the head down to the input; 1: the same for all
    layer_decay: float = bounded(1.0, above=0.0, most=1.0)


@dataclass(frozen=True)
class Schedule:
    """The learning-rate schedule."""

    # what the learning rate does after warm-up
    shape: Literal["constant", "linear", "cosine", "inverse-sqrt", "plateau", "slanted-triangular"] = "cosine"
    warmup_steps: int = bounded(0, least=0)  # steps of linear warm-up; slanted-triangular has its own
    # slanted-triangular: the fraction of the run in which the learning rate rises (ULMFiT: 0.1)
    warmup_fraction: float = bounded(0.1, above=0.0, most=0.99)
    # linear, cosine, plateau, slanted-triangular: the lowest learning rate, as a fraction of the peak
    min_ratio: float = bounded(0.0, least=0.0, most=1.0)
    factor: float = bounded(0.5, above=0.0, most=1.0)  # plateau, step decay: what the learning rate is multiplied by
    patience: int = bounded(0, least=0)  # plateau: more evaluations in a row without improvement reduce it
    decay_stages: int = bounded(1, least=1)  # step decay: equal stages of the run; from each to the next by `factor`


@dataclass(frozen=True)
class Train:
    """Training: budget, precision, evaluation, checkpoints."""

    budget: str = "2m"  # how long to train: 90s, 2m, 1.5h, 500 steps or 13 epochs
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    # a small addition to a pre-trained network, whose inputs and backbone are frozen then
    adapter: Adapter = field(default_factory=NoAdapter)
    # parts that are not trained; inputs and backbone: linear probing
    frozen: tuple[Literal["inputs", "backbone", "head"], ...] = ()
    # so many of the lowest layers are not trained, and the input is not either; 0: none
    frozen_layers: int = bounded(0, least=0)
    # gradual unfreezing: in this first fraction of the run, in equal stages, layers are trained from the head down, in
    # each stage one more; 0: all from the start
    unfreeze: float = bounded(0.0, least=0.0, most=1.0)
    gradient_accumulation: int = bounded(1, least=1)  # micro-batches per optimizer step
    ema_decay: float = bounded(0.0, least=0.0, most=0.999999)  # exponential moving average of the weights; 0: none
    precision: Literal["float32", "bf16"] = "float32"  # bf16: mixed precision
    # steps between evaluations; 0: ten evaluations in a run, or one an epoch if that is more
    evaluate_every: int = bounded(0, least=0)
    eval_batches: int = bounded(0, least=0)  # batches of the validation split in an evaluation; 0: all
    # what selects the best weights: the validation loss, or the task's metric (BLEU, ROUGE)
    best_by: Literal["loss", "metric"] = "loss"
    # steps between checkpoints; 0: about one a minute; every evaluation saves one too
    checkpoint_every: int = bounded(0, least=0)
    patience: int = bounded(0, least=0)  # early stopping: evaluations in a row without improvement; 0: never
    threads: int = bounded(0, least=0, most=1024)  # number of threads; 0: all cores


TEXT = "text"  # the stream of a text, and the input of every stream that has none of its own


@dataclass(frozen=True)
class Neural:
    """A neural model: data, tokenizer, batching, inputs, backbone, head, objective, and how it is trained."""

    kind: ClassVar[str] = "neural"
    data: (
        Text | TaskExamples | TextToText | Questions | ChoiceQuestions | Dialogues | TaggedWords | LabelledImages
    ) = field(default_factory=Text)
    tokenizer: Tokenizer | NoTokenizer = field(default_factory=Tokenizer)
    batching: Batching = field(default_factory=Contiguous)
    # by stream; a stream without an input of its own, as `source` and `target` with a shared vocabulary, has `text`'s
    inputs: Inputs = field(
        default_factory=lambda: Inputs(text=TokenInput()), metadata={"offered": lambda config: config.offered_inputs}
    )
    backbone: Backbone = field(default_factory=Recurrent)
    head: Head = field(default_factory=LMHead)
    objective: Objective = field(default_factory=CausalLM)
    train: Train = field(default_factory=Train)
    init_from: str = ""  # a pre-trained run whose tokenizer and weights initialise this one
    seed: int = bounded(1, least=0, most=2**63 - 1)  # random seed: splits, initialisation, order, dropout

    @property
    def streams(self) -> Mapping[str, str]:
        """The streams that the network reads -> what they hold."""
        return self.objective.streams or self.batching.streams

    def input_of(self, stream: str) -> Input:
        """The input of a stream: its own, or else that of `text`; refused if the stream holds what it does not take."""
        name = stream if stream in self.inputs else TEXT
        own, holds = self.inputs.get(name), self.streams.get(stream, "tokens")
        if own is None or own.takes != holds:
            taken = f"and the input of {name} takes {own.takes}" if own else "and has no input"
            what = f"batching.kind = {self.batching.kind} gives the stream {stream}, which holds {holds}, {taken}"
            raise FirthError(what, where="inputs", do=f"set inputs.{stream}.kind={_default_input(holds).kind}")
        return own

    @property
    def used_inputs(self) -> dict[str, Input]:
        """The inputs that the network has, by name: that of `text`, if any stream has it, then streams' own."""
        used = {stream if stream in self.inputs else TEXT: self.input_of(stream) for stream in self.streams}
        return dict(sorted(used.items(), key=lambda item: item[0] != TEXT))

    @property
    def offered_inputs(self) -> dict[str, Input]:
        """The inputs that the configuration may have, as they begin: of a stream of tokens as that of `text`."""
        streams, text = {TEXT: "tokens", **self.streams}, self.inputs.get(TEXT, TokenInput())
        return {stream: text if text.takes == holds else _default_input(holds) for stream, holds in streams.items()}


def _default_input(holds: str) -> Input:
    """The first kind of input that takes what a stream holds."""
    kind: type[Input] = next(kind for kind in get_args(Input) if kind.takes == holds)
    return kind()
