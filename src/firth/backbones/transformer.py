"""A stack of Transformer layers over the tokens' vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.block import Block
from firth.nn.cache import Cache
from firth.nn.norm import NORMS
from firth.nn.patterns import places, view
from firth.nn.positions import POSITIONS
from firth.types import Encoded, State, Tokens


class TransformerBackbone(nn.Module):
    """States of a Transformer. In training each row stands alone; given a state it reads on and keeps its cache."""

    def __init__(self, config: Transformer, input_width: int):
        super().__init__()
        self.config, self.width, self.limit = config, config.width, config.context
        self.looks_ahead = "backbone.sees" if config.sees != "left" else ""  # the setting that makes it so
        _check(config, input_width)
        self.positions = POSITIONS[config.positions](config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.norm = NORMS[config.norm](config.width, config.bias) if config.norm_at == "pre" else nn.Identity()
        self._start_values()

    def start(self, rows: int, device: torch.device | str = "cpu") -> State:
        """The state before any token."""
        config = self.config
        live = Cache.start(rows, config.depth, config.heads, config.width // config.heads, device)
        return State(source={}, live=live)

    def forward(self, vectors: Tensor, tokens: Tokens, state: State | None = None) -> Encoded:
        """vectors of the tokens (batch, time, width) -> states of the same shape, and what is carried on."""
        cache = None if state is None else Cache(state.live, vectors.shape[1])
        past = cache.past if cache else 0
        at = places(tokens, past)
        x = F.dropout(self.positions.embed(vectors, at), self.config.dropout, self.training)
        seen, angles = view(self.config.sees, tokens, past), self.positions.angles(at)
        for layer, block in enumerate(self.blocks):
            x = block(x, seen, self.positions, angles, cache, layer)
        carried = State(source=state.source, live=cache.live) if cache else None
        return Encoded(self.norm(x), tokens.mask, state=carried)

    def _start_values(self) -> None:
        """Normal; what adds to the sum starts smaller, so that depth does not make it grow (Radford et al. 2019)."""
        for name, module in self.blocks.named_modules():
            if isinstance(module, nn.Linear):
                adds = name.endswith("output")
                spread = self.config.spread / math.sqrt(2 * self.config.depth) if adds else self.config.spread
                nn.init.normal_(module.weight, std=spread)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


def _check(config: Transformer, input_width: int) -> None:
    """Refuse widths that do not fit together."""
    if config.width % config.heads:
        what = f"backbone.width = {config.width} cannot be shared by {config.heads} heads"
        raise FirthError(what, do="choose a width that backbone.heads divides")
    if config.positions == "rotary" and config.width // config.heads % 2:
        what = f"rotary positions turn pairs, and a head is {config.width // config.heads} wide"
        raise FirthError(what, do="choose heads of an even width")
    if input_width != config.width:
        what = f"input.width = {input_width}, but this backbone adds to its input, {config.width} wide"
        raise FirthError(what, do="leave input.width at 0")
