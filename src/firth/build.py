"""From configuration to system: the one place that knows all the tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from firth.backbones.recurrent import RecurrentBackbone
from firth.backbones.transformer import TransformerBackbone
from firth.backbones.window import WindowBackbone
from firth.config import schema
from firth.data.randomness import number
from firth.errors import FirthError
from firth.heads.language import LanguageHead
from firth.nn.inputs import TokenEmbedding
from firth.objectives.causal import Causal
from firth.types import Batch, Encoded, State, Term

INPUTS = {schema.TokenInput: TokenEmbedding}
BACKBONES = {
    schema.Recurrent: RecurrentBackbone,
    schema.Window: WindowBackbone,
    schema.Transformer: TransformerBackbone,
}
HEADS = {schema.LanguageHead: LanguageHead}
OBJECTIVES = {schema.Causal: Causal}


class System(nn.Module):
    """Input, backbone, head and objective in one module: the only one that is ever wrapped."""

    def __init__(self, config: schema.Neural, vocabulary: int) -> None:
        super().__init__()
        width = config.input.width or config.backbone.width
        self.input = INPUTS[type(config.input)](config.input, vocabulary, width)
        self.backbone = BACKBONES[type(config.backbone)](_fitted(config), width)
        self.head = HEADS[type(config.head)](config.head, vocabulary, self.backbone.width, width)
        self.objective = OBJECTIVES[type(config.objective)](config.objective)
        if self.backbone.looks_ahead and not self.objective.may_look_ahead:
            what = "a network that reads both ways cannot predict the next token"
            raise FirthError(what, where=self.backbone.looks_ahead, do="set it to left")

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """States of the text stream, and what is carried on."""
        tokens = batch.streams["text"]
        return self.backbone(self.input(tokens), tokens, state)

    def forward(self, batch: Batch, state: State | None = None) -> tuple[list[Term], State | None]:
        """The terms of the loss, and the state for the batch that goes on from this one."""
        encoded = self.encode(batch, state)
        return self.objective.terms(encoded, batch, self.head, self.input.weight), encoded.state

    def surprises(self, batch: Batch, state: State | None = None) -> tuple[Tensor, State | None]:
        """-log p of each target (batch, time) without gradients, and the state for the batch that goes on."""
        encoded = self.encode(batch, state)
        return self.head.surprises(encoded.states, batch.targets["text"].values, self.input.weight), encoded.state

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Of the next token at every position."""
        return self.head.log_probabilities(states, self.input.weight)


def _fitted(config: schema.Neural) -> Any:
    """The backbone's configuration, its context as long as the rows that it is to read."""
    backbone, batching = config.backbone, config.batching
    if not isinstance(backbone, schema.Transformer):
        return backbone
    if isinstance(batching, schema.Contiguous):
        what = "a Transformer carries nothing from batch to batch"
        raise FirthError(what, where="batching", do="set batching.kind=windows")
    if backbone.context and backbone.context < batching.length:
        what = f"backbone.context = {backbone.context} is shorter than batching.length = {batching.length}"
        raise FirthError(what, do="raise the first, or set it to 0")
    return replace(backbone, context=backbone.context or batching.length)


def build(config: schema.Neural, vocabulary: int) -> System:
    """A system with start values that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number(config.seed, "start"))
        return System(config, vocabulary)
