"""From configuration to system: the one place that knows all the tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from firth.backbones.encdec import EncoderDecoderBackbone
from firth.backbones.recurrent import RecurrentBackbone
from firth.backbones.transformer import TransformerBackbone
from firth.backbones.window import WindowBackbone
from firth.config import schema
from firth.data.randomness import number
from firth.errors import FirthError
from firth.heads.copying import CopyingHead, Looked
from firth.heads.detection import DetectionHead
from firth.heads.language import LanguageHead
from firth.heads.pooling import ClassHead, VectorHead
from firth.nn.inputs import TokenEmbedding
from firth.nn.patches import Patches
from firth.objectives.causal import Causal
from firth.objectives.companion import Companion
from firth.objectives.contrastive import Contrastive
from firth.objectives.distil import Distil
from firth.objectives.masked import Masked
from firth.objectives.permuted import Permuted
from firth.objectives.prefix import Prefix
from firth.objectives.replaced import Replaced, generator
from firth.objectives.supervised import Supervised
from firth.objectives.written import Written
from firth.types import Batch, Encoded, State, Term, Tokens

INPUTS = {schema.TokenInput: TokenEmbedding, schema.PatchInput: Patches}
BACKBONES = {
    schema.Recurrent: RecurrentBackbone,
    schema.Window: WindowBackbone,
    schema.Transformer: TransformerBackbone,
    schema.EncoderDecoder: EncoderDecoderBackbone,
}
HEADS = {
    schema.LanguageHead: LanguageHead,
    schema.CopyingHead: CopyingHead,
    schema.DetectionHead: DetectionHead,
    schema.ClassHead: ClassHead,
    schema.VectorHead: VectorHead,
}
OBJECTIVES = {
    schema.Causal: Causal,
    schema.Masked: Masked,
    schema.Replaced: Replaced,
    schema.Distil: Distil,
    schema.Written: Written,
    schema.Denoise: Written,
    schema.Prefix: Prefix,
    schema.Permuted: Permuted,
    schema.Supervised: Supervised,
    schema.Contrastive: Contrastive,
}
# Networks that are trained beside the system's own: what to build of its configuration.
COMPANIONS = {schema.Replaced: generator}
MARKS = 2  # [START] and [END]


class System(nn.Module):
    """Input, backbone, head and objective in one module: the only one that is ever wrapped."""

    def __init__(self, config: schema.Neural, vocabulary: int, classes: int = 2, source: int = 0) -> None:
        super().__init__()
        _require_readable(config)
        backbone, vocabulary = fitted(config), max(vocabulary, config.input.rows)
        width = config.input.width or _width(backbone)
        self.input = INPUTS[type(config.input)](config.input, vocabulary, width)
        if source:  # tokens that are read have a vocabulary of their own
            self.source_input = INPUTS[type(config.input)](config.input, source, width)
        self.backbone = BACKBONES[type(config.backbone)](backbone, width)
        outputs = classes if isinstance(config.head, schema.ClassHead) else vocabulary
        self.head = HEADS[type(config.head)](config.head, outputs, self.backbone.width, width)
        self.objective = OBJECTIVES[type(config.objective)](config, self.backbone.width)
        if type(config.objective) in COMPANIONS:
            self.objective.companion = self._companion(COMPANIONS[type(config.objective)](config), vocabulary, width)
        if self.backbone.looks_ahead and not self.objective.may_look_ahead:
            what = "a network that reads both ways cannot predict the next token"
            raise FirthError(what, where=self.backbone.looks_ahead, do="set it to left")

    def _companion(self, config: schema.Neural, vocabulary: int, width: int) -> Companion:
        """Another backbone and head, which share the first vectors with the system's own: tokens', places', norm."""
        backbone = BACKBONES[type(config.backbone)](fitted(config), width)
        found = Companion(backbone, HEADS[type(config.head)](config.head, vocabulary, backbone.width, width))
        found.share(self.backbone, "positions", "input_norm")
        return found

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """States of the streams that the backbone reads, and what is carried on."""
        streams = [(name, batch.streams[name]) for name in self.input.streams or self.backbone.streams]
        return self.backbone(*(part for name, each in streams for part in self.reader(name).read(each)), state)

    def vectors(self, stream: str, tokens: Tokens) -> Tensor:
        """Vectors of a stream (batch, time, width), by its own table where it has one."""
        return self.reader(stream)(tokens)

    def reader(self, stream: str) -> nn.Module:
        """What turns a stream into vectors."""
        return getattr(self, f"{stream}_input", self.input)

    @property
    def table(self) -> Tensor:
        """The input's table, for tied heads."""
        return self.input.weight

    def forward(self, batch: Batch, state: State | None = None) -> tuple[list[Term], State | None]:
        """The terms of the loss, and the state for the batch that goes on from this one."""
        return self.objective.terms(self, batch, state)

    def surprises(self, batch: Batch, state: State | None = None) -> tuple[Tensor, State | None]:
        """-log p of each target (batch, time) without gradients, and the state for the batch that goes on."""
        encoded = self.encode(batch, state)
        return self.head.surprises(encoded.states, batch.targets["text"].values, self.table), encoded.state

    def log_probabilities(self, states: Tensor, *looked: Looked) -> Tensor:
        """Of the next token at every position; a head that copies is told where in the source each one looks."""
        return self.head.log_probabilities(states, self.table, *looked)


def _require_readable(config: schema.Neural) -> None:
    """Refuse rows of one kind for an input of another."""
    if config.batching.gives != config.input.kind:
        what = f"batching.kind = {config.batching.kind} gives {config.batching.gives}, and the input reads"
        raise FirthError(f"{what} {config.input.kind}", where="input.kind", do=f"set it to {config.batching.gives}")
    spelled = [part for part in ("input", "head") if getattr(getattr(config, part), "letters", 0)]
    if spelled and not isinstance(config.batching, schema.Pairs):
        what = "words that the vocabulary lacks are spelled only where texts are written for texts"
        raise FirthError(what, where=f"{spelled[0]}.letters", do="set it to 0")


def fitted(config: schema.Neural) -> Any:
    """The backbone's configuration, the context of Transformers as long as the rows that they are to read."""
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        # marks at the beginning and the end of a text take room too
        parts = {name: _reaching(getattr(backbone, name), config, MARKS) for name in ("encoder", "decoder")}
        looks = replace(backbone.looks, places=backbone.looks.places or config.batching.length + MARKS)
        return replace(backbone, **parts, looks=looks)
    return _reaching(backbone, config)


def _reaching(backbone: Any, config: schema.Neural, room: int = 0) -> Any:
    if not isinstance(backbone, schema.Transformer):
        return backbone
    batching = config.batching
    if isinstance(batching, schema.Contiguous) and not backbone.memory:
        what = "a Transformer without memory carries nothing from batch to batch"
        raise FirthError(what, where="batching", do="set batching.kind=windows, or backbone.memory above 0")
    length = config.input.places or batching.length + room
    if backbone.context and backbone.context < length:
        marks = f" and {room} marks" if room else ""
        rows = f"a picture's {length} places" if config.input.places else f"batching.length = {batching.length}{marks}"
        what = f"backbone.context = {backbone.context} is shorter than {rows}"
        raise FirthError(what, do="raise the first, or set it to 0")
    return replace(backbone, context=backbone.context or length)


def _width(backbone: Any) -> int:
    return backbone.encoder.width if isinstance(backbone, schema.EncoderDecoder) else backbone.width


def build(config: schema.Neural, vocabulary: int, classes: int = 2, source: int = 0) -> System:
    """A system with start values that depend on the seed alone; `classes` are the labels that it tells, if it does, and
    `source` the tokens of what it reads, if they are others than those it writes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number(config.seed, "start"))
        return System(config, vocabulary, classes, source)
