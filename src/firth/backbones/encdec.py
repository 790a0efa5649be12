"""Two networks: one reads the source, the other writes the target and looks at what the first has read."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from firth.backbones.attending import READ, SEEN, AttendingDecoder, Read
from firth.backbones.recurrent import RecurrentBackbone
from firth.backbones.transformer import TransformerBackbone
from firth.config.schema import EncoderDecoder, Recurrent, Transformer
from firth.errors import FirthError
from firth.nn.attention import Source
from firth.nn.patterns import across
from firth.types import Encoded, State, Tokens


class LookingTransformer(TransformerBackbone):
    """A Transformer whose layers look at the source. The state's `source` holds each layer's keys and values of it."""

    looks = True

    def __init__(self, config: EncoderDecoder, input_width: int, read_width: int):
        if config.decoder.sees != "left":
            do = "set it to left"
            raise FirthError("a decoder that looks ahead cannot write", where="backbone.decoder.sees", do=do)
        if read_width != config.decoder.width:
            what = f"an encoder {read_width} wide for a decoder {config.decoder.width} wide"
            raise FirthError(what, where="backbone", do="make both equally wide")
        usual = EncoderDecoder()
        if replace(config.looks, places=0) != usual.looks or config.bridge != usual.bridge:
            what = "a decoder that is a Transformer looks in its own way, and begins with nothing"
            do = "leave backbone.looks and backbone.bridge out, or set backbone.decoder.kind=recurrent"
            raise FirthError(what, where="backbone", do=do)
        super().__init__(config.decoder, input_width, cross=True)

    def begin(self, read: Read) -> State:
        """The state before any token."""
        ready = [torch.stack(block.cross.inner.read(read.states), 1) for block in self.blocks]
        begun = self.start(len(read.states), read.states.device)
        return replace(begun, source={READ: torch.stack(ready, 1), SEEN: read.mask})

    def written(self, vectors: Tensor, target: Tokens, read: Read) -> Encoded:
        """States of a whole target (batch, time, width)."""
        return self(vectors, target, None, Source(across(target, read.mask), states=read.states))

    def on(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """Read on in what is written."""
        mask = state.source[SEEN]
        if len(mask) != len(target.ids):
            mask = mask.repeat_interleave(len(target.ids) // len(mask), 0)
        return self(vectors, target, state, Source(across(target, mask), ready=state.source[READ]))

    @torch.no_grad()
    def aligned(self, vectors: Tensor, target: Tokens, read: Read, layer: int = -1) -> Tensor:
        """How much each token takes from each of the source (batch, time, source): the mean of one layer's heads."""
        x, scene = self.enter(vectors, target)
        scene = replace(scene, source=Source(across(target, read.mask), states=read.states))
        layer = range(len(self.blocks))[layer]
        for block in self.blocks[:layer]:
            x = block(x, scene)
        return self.blocks[layer].looks(x, scene).mean(1)


READERS = {Transformer: TransformerBackbone, Recurrent: RecurrentBackbone}
WRITERS = {Transformer: LookingTransformer, Recurrent: AttendingDecoder}


class EncoderDecoderBackbone(nn.Module):
    """States of the target. The state's `source` holds what was read."""

    streams = ("source", "target")
    looks_ahead = ""

    def __init__(self, config: EncoderDecoder, input_width: int):
        super().__init__()
        if getattr(config.encoder, "residual", "plain") == "reversible":
            what = "an encoder with two streams for a decoder that looks at one"
            raise FirthError(what, where="backbone.encoder.residual", do="set it to plain")
        self.reverse = config.reverse
        self.encoder = READERS[type(config.encoder)](config.encoder, input_width)
        self.decoder = WRITERS[type(config.decoder)](config, input_width, self.encoder.width)
        self.width, self.limit = self.decoder.width, self.decoder.limit

    def forward(
        self, source_vectors: Tensor, source: Tokens, vectors: Tensor, target: Tokens, state: State | None = None
    ) -> Encoded:
        """Vectors of both streams (batch, time, input width) -> states of the target (batch, time, width)."""
        return self.decoder.written(vectors, target, self.read(source_vectors, source))

    def read(self, vectors: Tensor, source: Tokens) -> Read:
        """What is made of the source, in its own order."""
        if self.reverse:
            order = _backwards(source.mask)
            turned = vectors.gather(1, order[..., None].expand_as(vectors))
            found = self.encoder.read(turned, source)
            states = found.states.gather(1, order[..., None].expand_as(found.states))
        else:
            found = self.encoder.read(vectors, source)
            states = found.states
        live = found.state.live if found.state else {}
        return Read(states, source.mask, live, self.encoder.directions)

    def aligned(
        self, source_vectors: Tensor, source: Tokens, vectors: Tensor, target: Tokens, layer: int = -1
    ) -> Tensor | None:
        """How much each token of the target looks at each of the source (batch, time, source), if it does."""
        return self.decoder.aligned(vectors, target, self.read(source_vectors, source), layer)

    def start(self, vectors: Tensor, source: Tokens) -> State:
        """The state after reading the source, before any token of the target."""
        return self.decoder.begin(self.read(vectors, source))

    def step(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """Read on in the target."""
        return self.decoder.on(vectors, target, state)


def _backwards(mask: Tensor) -> Tensor:
    """For each place the one that is read instead of it, the real ones from the last to the first (batch, time)."""
    at = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - at, at)
