"""Recurrent backbone: RNN, LSTM or GRU; unidirectional, or bidirectional for encoders."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.config.schema import Recurrent
from firth.nn.recurrent import RecurrentLayers
from firth.types import Encoded, State, Tokens


class RecurrentBackbone(nn.Module):
    """Hidden states of a recurrent network. Sequences are right-padded; no real token's state depends on padding."""

    streams: tuple[str, ...] = ()  # that it reads, by name; none: the one that the batches have
    max_length = 0  # context length in tokens: unlimited
    segment_length = 0  # tokens per forward pass: unlimited

    def __init__(self, config: Recurrent, input_width: int):
        super().__init__()
        self.layers, self.depth = RecurrentLayers(config, input_width), config.depth
        self.num_directions = 1 if config.bidirectional == "no" else 2
        self.width = self.layers.width
        self.directions = 2 if config.bidirectional == "concatenate" else 1  # in a hidden state, side by side
        # the setting that makes it bidirectional; empty: it is causal
        self.bidirectional_setting = "backbone.bidirectional" if self.num_directions > 1 else ""

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1."""
        return self.layers.depth_of(name)

    def start(self, batch_size: int, device: torch.device | str = "cpu") -> State:
        """The initial state before any token."""
        return State(source={}, live=self.layers.start(batch_size, device))

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, keep_layers: bool = False
    ) -> Encoded:
        """Token embeddings (batch, time, input width) -> hidden states (batch, time, width), and the next state."""
        if self.bidirectional_setting:
            return self.encode(vectors, tokens, keep_layers, final_state=False)
        state = state or self.start(len(vectors), vectors.device)
        kept = [vectors] if keep_layers else None
        states, live = self.layers(vectors, state.live, kept_layers=kept)
        return Encoded(states, tokens.mask, tuple(kept or ()), State(source=state.source, live=live))

    def encode(
        self, vectors: Tensor, tokens: Tokens, keep_layers: bool = False, final_state: bool = True
    ) -> Encoded:
        """Whole sequences: the final state, if it is wanted, is that of each sequence's own last token (in reverse, of
        its first)."""
        lengths = None if tokens.mask.all() else tokens.mask.sum(1)
        kept = [vectors] if keep_layers else None
        start = self.layers.start(len(vectors), vectors.device)
        states, live = self.layers(vectors, start, lengths, kept, final_state)
        state = State(source={}, live=live) if final_state else None
        return Encoded(states, tokens.mask, tuple(kept or ()), state, directions=self.directions)
