"""Two Transformers: one reads the source, the other writes the target and looks at what the first has read."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from firth.backbones.transformer import TransformerBackbone
from firth.config.schema import EncoderDecoder
from firth.errors import FirthError
from firth.nn.attention import Source
from firth.nn.patterns import across
from firth.types import Encoded, State, Tokens

READ, SEEN = "keys_and_values", "mask"  # of the source, in the state


class EncoderDecoderBackbone(nn.Module):
    """States of the target. The state's `source` holds each layer's keys and values of what was read."""

    streams = ("source", "target")
    looks_ahead = ""

    def __init__(self, config: EncoderDecoder, input_width: int):
        super().__init__()
        if config.encoder.width != config.decoder.width:
            what = f"an encoder {config.encoder.width} wide for a decoder {config.decoder.width} wide"
            raise FirthError(what, where="backbone", do="make both equally wide")
        if config.encoder.residual != "plain":
            what = "an encoder with two streams for a decoder that looks at one"
            raise FirthError(what, where="backbone.encoder.residual", do="set it to plain")
        if config.decoder.sees != "left":
            do = "set it to left"
            raise FirthError("a decoder that looks ahead cannot write", where="backbone.decoder.sees", do=do)
        self.encoder = TransformerBackbone(config.encoder, input_width)
        self.decoder = TransformerBackbone(config.decoder, input_width, cross=True)
        self.width, self.limit = config.decoder.width, config.decoder.context

    def forward(
        self, source_vectors: Tensor, source: Tokens, vectors: Tensor, target: Tokens, state: State | None = None
    ) -> Encoded:
        """Vectors of both streams (batch, time, input width) -> states of the target (batch, time, width)."""
        read = self.encoder(source_vectors, source)
        return self.decoder(vectors, target, None, Source(across(target, source.mask), states=read.states))

    def start(self, vectors: Tensor, source: Tokens) -> State:
        """The state after reading the source, before any token of the target."""
        states = self.encoder(vectors, source).states
        ready = [torch.stack(block.cross.inner.read(states), 1) for block in self.decoder.blocks]
        begun = self.decoder.start(len(states), states.device)
        return replace(begun, source={READ: torch.stack(ready, 1), SEEN: source.mask})

    def step(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """Read on in the target."""
        mask = state.source[SEEN]
        if len(mask) != len(target.ids):
            mask = mask.repeat_interleave(len(target.ids) // len(mask), 0)
        return self.decoder(vectors, target, state, Source(across(target, mask), ready=state.source[READ]))
