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
from firth.heads.language import LanguageHead
from firth.nn.inputs import TokenEmbedding
from firth.objectives.causal import Causal
from firth.objectives.masked import Masked
from firth.types import Batch, Encoded, State, Term

INPUTS = {schema.TokenInput: TokenEmbedding}
BACKBONES = {
    schema.Recurrent: RecurrentBackbone,
    schema.Window: WindowBackbone,
    schema.Transformer: TransformerBackbone,
    schema.EncoderDecoder: EncoderDecoderBackbone,
}
HEADS = {schema.LanguageHead: LanguageHead}
OBJECTIVES = {schema.Causal: Causal, schema.Masked: Masked}


class System(nn.Module):
    """Input, backbone, head and objective in one module: the only one that is ever wrapped."""

    def __init__(self, config: schema.Neural, vocabulary: int) -> None:
        super().__init__()
        backbone = _fitted(config)
        width = config.input.width or _width(backbone)
        self.input = INPUTS[type(config.input)](config.input, vocabulary, width)
        self.backbone = BACKBONES[type(config.backbone)](backbone, width)
        self.head = HEADS[type(config.head)](config.head, vocabulary, self.backbone.width, width)
        self.objective = OBJECTIVES[type(config.objective)](config, self.backbone.width)
        if self.backbone.looks_ahead and not self.objective.may_look_ahead:
            what = "a network that reads both ways cannot predict the next token"
            raise FirthError(what, where=self.backbone.looks_ahead, do="set it to left")

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """States of the streams that the backbone reads, and what is carried on."""
        streams = [batch.streams[name] for name in self.backbone.streams]
        return self.backbone(*(part for tokens in streams for part in (self.input(tokens), tokens)), state)

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

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Of the next token at every position."""
        return self.head.log_probabilities(states, self.table)


def _fitted(config: schema.Neural) -> Any:
    """The backbone's configuration, the context of Transformers as long as the rows that they are to read."""
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        parts = {name: _reaching(getattr(backbone, name), config) for name in ("encoder", "decoder")}
        return replace(backbone, **parts)
    return _reaching(backbone, config) if isinstance(backbone, schema.Transformer) else backbone


def _reaching(backbone: schema.Transformer, config: schema.Neural) -> schema.Transformer:
    batching = config.batching
    if isinstance(batching, schema.Contiguous):
        what = "a Transformer carries nothing from batch to batch"
        raise FirthError(what, where="batching", do="set batching.kind=windows")
    if backbone.context and backbone.context < batching.length:
        what = f"backbone.context = {backbone.context} is shorter than batching.length = {batching.length}"
        raise FirthError(what, do="raise the first, or set it to 0")
    return replace(backbone, context=backbone.context or batching.length)


def _width(backbone: Any) -> int:
    return backbone.encoder.width if isinstance(backbone, schema.EncoderDecoder) else backbone.width


def build(config: schema.Neural, vocabulary: int) -> System:
    """A system with start values that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number(config.seed, "start"))
        return System(config, vocabulary)
