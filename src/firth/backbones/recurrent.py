"""A recurrent network, read left to right, or both ways where all of the text may be seen."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.config.schema import Recurrent
from firth.nn.recurrent import RecurrentLayers
from firth.types import Encoded, State, Tokens


class RecurrentBackbone(nn.Module):
    """States of a recurrent network. Padding comes last, and no real position's state depends on it."""

    streams = ("text",)
    limit = 0  # tokens that it can be given: any number
    segment = 0  # … at once: any number

    def __init__(self, config: Recurrent, input_width: int):
        super().__init__()
        self.layers = RecurrentLayers(config, input_width)
        self.directions = 1 if config.directions == "left" else 2
        self.width, self.looks_ahead = self.layers.width, "backbone.directions" if self.directions > 1 else ""

    def start(self, rows: int, device: torch.device | str = "cpu") -> State:
        """The state before any token."""
        return State(source={}, live=self.layers.start(rows, device))

    def forward(self, vectors: Tensor, tokens: Tokens, state: State | None = None) -> Encoded:
        """vectors of the tokens (batch, time, input width) -> states (batch, time, width), and what is carried on."""
        if self.looks_ahead:
            return self.read(vectors, tokens)
        state = state or self.start(len(vectors), vectors.device)
        states, live = self.layers(vectors, state.live)
        return Encoded(states, tokens.mask, state=State(source=state.source, live=live))

    def read(self, vectors: Tensor, tokens: Tokens) -> Encoded:
        """Whole texts: what is carried on is what their own last tokens leave, or backwards their first."""
        lengths = None if tokens.mask.all() else tokens.mask.sum(1)
        states, live = self.layers(vectors, self.layers.start(len(vectors), vectors.device), lengths)
        return Encoded(states, tokens.mask, state=State(source={}, live=live))
