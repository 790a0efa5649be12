"""A stack of Transformer layers over the tokens' vectors."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.attention import Scene, Source
from firth.nn.block import Block
from firth.nn.cache import Cache
from firth.nn.norm import norm
from firth.nn.patterns import places, view
from firth.nn.positions import POSITIONS, head_width
from firth.types import Encoded, State, Tokens


class TransformerBackbone(nn.Module):
    """States of a Transformer. In training each row stands alone; given a state it reads on and keeps its cache."""

    streams = ("text",)

    def __init__(self, config: Transformer, input_width: int, cross: bool = False):
        super().__init__()
        self.config, self.width, self.limit = config, config.width, config.context
        self.looks_ahead = "" if config.sees == "left" else "backbone.sees"  # the setting that makes it so
        _check(config)
        self.positions = POSITIONS[config.positions](config, input_width)
        self.input_norm = norm(config, input_width) if config.norm_input else nn.Identity()
        self.widen = nn.Identity() if input_width == config.width else nn.Linear(input_width, config.width)
        self.blocks = nn.ModuleList(Block(config, layer, cross) for layer in range(config.depth))
        self.norm = nn.Identity() if config.norm_at == "post" else norm(config)
        self._start_values()

    def start(self, rows: int, device: torch.device | str = "cpu") -> State:
        """The state before any token."""
        config = self.config
        return State(source={}, live=Cache.start(rows, config.depth, config.heads, head_width(config), device))

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, source: Source | None = None
    ) -> Encoded:
        """vectors of the tokens (batch, time, input width) -> states (batch, time, width), and what is carried on."""
        x, scene = self.enter(vectors, tokens, state)
        scene = replace(scene, source=source)
        for block in self.blocks:
            x = block(x, scene)
        carried = State(source=state.source, live=scene.cache.live) if scene.cache else None
        return Encoded(self.norm(x), tokens.mask, state=carried)

    def enter(self, vectors: Tensor, tokens: Tokens, state: State | None = None) -> tuple[Tensor, Scene]:
        """What the first layer is given, and what all of them share."""
        cache = None if state is None else Cache(state.live, vectors.shape[1])
        past = cache.past if cache else 0
        at = places(tokens, past)
        x = self.input_norm(self.positions.embed(vectors, at))
        x = self.widen(F.dropout(x, self.config.dropout, self.training))
        keys = torch.arange(past + len(at), device=at.device) if past else at
        return x, Scene(view(self.config, tokens, past), self.positions.prepare(keys, vectors.shape[1]), cache)

    @torch.no_grad()
    def attention(self, vectors: Tensor, tokens: Tokens, layer: int) -> Tensor:
        """How much each token takes from each in one layer (batch, heads, time, time); only layers below it are run."""
        x, scene = self.enter(vectors, tokens)
        for block in self.blocks[:layer]:
            x = block(x, scene)
        part = self.blocks[layer].attention
        return part.inner.weights(part.before(x), scene)

    def _start_values(self) -> None:
        """Normal; what adds to the sum starts smaller, so that depth does not make it grow (Radford et al. 2019)."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                adds = name.endswith("output")
                spread = self.config.spread / math.sqrt(2 * self.config.depth) if adds else self.config.spread
                nn.init.normal_(module.weight, std=spread)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


def _check(config: Transformer) -> None:
    """Refuse widths that do not fit together."""
    if config.width % config.heads and not config.head_width:
        what = f"backbone.width = {config.width} cannot be shared by {config.heads} heads"
        raise FirthError(what, do="choose a width that backbone.heads divides")
    if config.positions == "rotary" and head_width(config) % 2:
        what = f"rotary positions turn pairs, and a head is {head_width(config)} wide"
        raise FirthError(what, do="choose heads of an even width")
