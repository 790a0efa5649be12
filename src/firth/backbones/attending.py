"""A recurrent network that writes, looking at what another has read (Bahdanau et al. 2015; Luong et al. 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from firth.config.schema import EncoderDecoder, Transformer
from firth.errors import FirthError
from firth.nn.looking import Look
from firth.nn.recurrent import RecurrentLayers
from firth.types import ALIGNMENT, Encoded, State, Tokens

READ, KEYS, SEEN = "read", "keys", "mask"  # of the source, in the state
FED, COVERED, TIME = "fed", "covered", "time"  # of what is written: carried beside the layers' own


class Read(NamedTuple):
    """What an encoder has made of a source."""

    states: Tensor  # (batch, time, width)
    mask: Tensor  # (batch, time)
    live: Mapping[str, Tensor]  # its last states (batch, layers × directions, width) by name, if it is recurrent
    directions: int = 1

    @property
    def summary(self) -> Tensor:
        """One vector for the whole (batch, width): the last layer's last states, or the mean of all."""
        if "hidden" in self.live:
            return self.live["hidden"][:, -self.directions :].flatten(1)
        real = self.mask[..., None]
        return (self.states * real).sum(1) / real.sum(1)


class AttendingDecoder(nn.Module):
    """States of what is written. All of it at once where nothing that is seen is read with the next token."""

    limit = 0  # tokens that it can write: any number

    def __init__(self, config: EncoderDecoder, input_width: int, read_width: int):
        super().__init__()
        looks, self.depth = config.looks, config.decoder.depth
        self.config, self.read_width = looks, read_width
        self.width = config.decoder.projection or config.decoder.width
        self.before = looks.score != "none" and looks.when == "before"
        fed = read_width * self.before + self.width * looks.feeding
        self.layers = RecurrentLayers(config.decoder, input_width + fed)
        self.look = self.join = None
        self.looks = looks.score != "none"  # whether it tells where in the source it looks
        if self.looks:
            self.look = Look(looks, self.width, read_width)
            self.join = nn.Linear(self.width + read_width, self.width)
        self.bridge = BRIDGES[config.bridge](self.layers, summary_width(config))
        _check(config, self.stepwise)

    @property
    def stepwise(self) -> bool:
        """Whether a token can be read only after what was seen for the one before it is known."""
        return self.before or self.config.feeding or self.config.coverage

    def begin(self, read: Read) -> State:
        """The state before any token."""
        source = {READ: read.states, SEEN: read.mask}
        live = dict(self.bridge(read))
        rows, device = len(read.states), read.states.device
        if self.look is not None:
            source[KEYS] = self.look.score.keys(read.states)
            live[TIME] = torch.zeros(rows, 1, dtype=torch.long, device=device)
            live[ALIGNMENT] = torch.zeros(rows, read.states.shape[1], device=device)
        if self.config.feeding:
            live[FED] = torch.zeros(rows, self.width, device=device)
        if self.config.coverage:
            live[COVERED] = torch.zeros(rows, read.states.shape[1], device=device)
        return State(source=source, live=live)

    def written(self, vectors: Tensor, target: Tokens, read: Read) -> Encoded:
        """States of a whole target (batch, time, width)."""
        return self.on(vectors, target, self.begin(read))

    def aligned(self, vectors: Tensor, target: Tokens, read: Read, layer: int = -1) -> Tensor | None:
        """How much each token looks at each of the source (batch, time, source), if it does."""
        return self.written(vectors, target, read).alignment

    def on(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """Read on in what is written: vectors of its tokens (rows, time, input width) -> states."""
        source = {name: _each(tensor, len(vectors)) for name, tensor in state.source.items()}
        if self.look is None:
            states, live = self.layers(vectors, state.live)
            return Encoded(states, target.mask, state=State(state.source, live))
        if not self.stepwise:
            states, weights, live = self._some(vectors, source, dict(state.live))
        else:
            parts, live = [], dict(state.live)
            for vector in vectors.split(1, 1):
                *found, live = self._some(vector, source, live)
                parts.append(found)
            states, weights = (torch.cat(part, 1) for part in zip(*parts, strict=True))
        weights = weights.float()  # whatever the precision of products: they are read outside of the network too
        live[ALIGNMENT] = weights[:, -1]
        return Encoded(states, target.mask, state=State(state.source, live), alignment=weights)

    def _some(
        self, vectors: Tensor, source: Mapping[str, Tensor], live: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """A stretch of tokens, where step by step one: states, weights over the source, what is carried on."""
        carried = {name: live[name] for name in self.layers.shapes}
        if self.before:
            seen, weights = self._seen(carried["hidden"][:, -1:], source, live)
        fed = [live[FED][:, None]] if self.config.feeding else []
        inputs = torch.cat([vectors, *([seen] if self.before else []), *fed], -1)
        states, carried = self.layers(inputs, carried)
        if not self.before:
            seen, weights = self._seen(states, source, live)
        found = self.join(torch.cat([states, seen], -1)).tanh()
        after = {**live, **carried, TIME: live[TIME] + vectors.shape[1]}
        if self.config.feeding:
            after[FED] = found[:, -1]
        if self.config.coverage:
            after[COVERED] = live[COVERED] + weights.sum(1)
        return found, weights, after

    def _seen(self, queries: Tensor, source: Mapping[str, Tensor], live: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        weights = self.look(queries, source[KEYS], source[SEEN], live[TIME], live.get(COVERED))
        return weights @ source[READ], weights


def _each(tensor: Tensor, rows: int) -> Tensor:
    """A row of the source for each row of what is written, where several are written for one."""
    return tensor if len(tensor) == rows else tensor.repeat_interleave(rows // len(tensor), 0)


def summary_width(config: EncoderDecoder) -> int:
    """Of the one vector for a whole source."""
    encoder = config.encoder
    if isinstance(encoder, Transformer):
        return encoder.width
    return (encoder.projection or encoder.width) * (1 if encoder.directions == "left" else 2)


class Unbridged(nn.Module):
    """The decoder begins as if nothing was read."""

    def __init__(self, layers: RecurrentLayers, width: int):
        super().__init__()
        self.start = layers.start

    def forward(self, read: Read) -> Mapping[str, Tensor]:
        """What the decoder's layers begin with, rows first."""
        return self.start(len(read.states), read.states.device)


class SameBridge(Unbridged):
    """Each layer begins where the encoder's has ended (Sutskever et al. 2014)."""

    def forward(self, read: Read) -> Mapping[str, Tensor]:
        return {name: read.live[name] for name in self.start(1, "cpu")}


class LayerBridge(nn.Module):
    """A layer makes of the encoder's last state what the decoder begins with (Bahdanau et al. 2015)."""

    def __init__(self, layers: RecurrentLayers, width: int):
        super().__init__()
        self.shapes = layers.shapes
        self.make = nn.ModuleDict({name: nn.Linear(width, a * b) for name, (a, b) in layers.shapes.items()})

    def forward(self, read: Read) -> Mapping[str, Tensor]:
        summary = read.summary
        return {name: self.make[name](summary).tanh().view(-1, *shape) for name, shape in self.shapes.items()}


BRIDGES = {"none": Unbridged, "same": SameBridge, "layer": LayerBridge}


def _check(config: EncoderDecoder, stepwise: bool) -> None:
    """Refuse what cannot be joined."""
    encoder, decoder, looks = config.encoder, config.decoder, config.looks
    if decoder.directions != "left":
        where = "backbone.decoder.directions"
        raise FirthError("a decoder that reads both ways cannot write", where=where, do="set it to left")
    alike = ("cell", "width", "depth", "projection", "directions")
    if config.bridge == "same" and any(getattr(encoder, name, None) != getattr(decoder, name) for name in alike):
        what = "the encoder's last state does not fit the decoder: they differ in kind or size"
        raise FirthError(what, where="backbone.bridge", do="set it to layer")
    if looks.score == "none" and config.bridge == "none":
        what = "a decoder that neither looks at the source nor begins with it knows nothing of it"
        raise FirthError(what, where="backbone.bridge", do="set it to layer, or choose a backbone.looks.score")
    if stepwise and (decoder.locked or decoder.weight_dropout):
        what = "locked and weight dropout draw once for a text, and this decoder is drawn for anew at every token"
        do = "set locked=false and weight_dropout=0, or backbone.looks.when=after and feeding=false"
        raise FirthError(what, where="backbone.decoder", do=do)
    if decoder.learned_start and config.bridge != "none":
        what = "the decoder begins with what was read, so that it has no first state to learn"
        raise FirthError(what, where="backbone.decoder.learned_start", do="set it to false, or backbone.bridge=none")
    if looks.score == "none" and (looks.feeding or looks.coverage):
        what = "nothing is looked at, so nothing of it can be fed or counted"
        raise FirthError(what, where="backbone.looks", do="choose a backbone.looks.score")
