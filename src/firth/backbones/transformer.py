"""A stack of Transformer layers over the tokens' vectors."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.backbones.fitting import check_layers
from firth.backbones.rereading import reread, unread
from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.attention import Heads, Scene, Source
from firth.nn.block import Block
from firth.nn.cache import Cache
from firth.nn.memory import CARRIED, NAME, Memory
from firth.nn.norm import norm
from firth.nn.patterns import View, places, view
from firth.nn.positions import POSITIONS, Relation, head_width
from firth.nn.ragged import Ragged
from firth.nn.relative import segments_apart
from firth.nn.reversible import RESIDUALS, STREAMS
from firth.nn.streams import Asked, joined
from firth.types import Encoded, State, Tokens


class TransformerBackbone(nn.Module):
    """States of a Transformer. In training each row stands alone; given a state it reads on and keeps its cache."""

    streams = ("text",)
    directions = 1

    def __init__(self, config: Transformer, input_width: int, cross: bool = False):
        super().__init__()
        self.config, self.width, self.memory = config, STREAMS[config.residual] * config.width, config.memory
        self.input_width = input_width
        self.anew = set(config.attends) != {"full"}  # keys are not kept: what was read is read again with what follows
        self.alone = _alone(config)
        # tokens it can be given, and those it is given at once where it remembers what was before them; 0: any number
        self.limit, self.segment = (0, config.context) if config.memory else (config.context, 0)
        self.looks_ahead = "" if config.sees == "left" else "backbone.sees"  # the setting that makes it so
        _check(config)
        self.positions = POSITIONS[config.positions](config, input_width)
        check_layers(config, self.positions, cross)
        self.input_norm = norm(config, input_width) if config.norm_input else nn.Identity()
        self.widen = nn.Identity() if input_width == config.width else nn.Linear(input_width, config.width)
        self.blocks = nn.ModuleList(Block(config, layer, cross) for layer in range(config.depth))
        self.norm = nn.Identity() if config.norm_at == "post" else norm(config, self.width)
        if config.sees == "permuted":  # what places that are asked begin with
            self.query = nn.Parameter(torch.empty(input_width).normal_(std=config.spread))
        self._start_values()

    def start(self, rows: int, device: torch.device | str = "cpu") -> State:
        """The state before any token."""
        config = self.config
        if self.anew:
            return unread(rows, self.input_width, device)
        if self.memory and not self.positions.cached:
            return State(source={}, live=Memory.start(rows, config.depth, config.width, device))
        return State(source={}, live=Cache.start(rows, config.depth, config.heads, head_width(config), device))

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, source: Source | None = None
    ) -> Encoded:
        """vectors of the tokens (batch, time, input width) -> states (batch, time, width), and what is carried on."""
        if self.anew and state is not None:
            return reread(self, vectors, tokens, state)
        x, scene = self.enter(vectors, tokens, state)
        ragged = Ragged.of(tokens.mask) if self.alone and state is None and source is None else None
        if ragged is not None:
            found = self._through(ragged.packed(x), replace(scene, ragged=ragged))
            return Encoded(ragged.spread(self.norm(found)), tokens.mask)
        scene = replace(scene, source=source)
        return Encoded(self.norm(self._through(x, scene)), tokens.mask, state=_carried(scene, state))

    def read(self, vectors: Tensor, tokens: Tokens) -> Encoded:
        """Whole texts, for another network to look at."""
        return self(vectors, tokens)

    def ask(self, vectors: Tensor, tokens: Tokens, asked: Asked, state: State | None = None) -> Encoded:
        """States of places (batch, asked, width) that know where they are and what they may see, not what stands there;
        the tokens are read beside them (Yang et al. 2019)."""
        x, scene = self.enter(vectors, tokens, state, asked)
        found = self.norm(self._through(x, scene))[:, scene.content :]
        return Encoded(found, torch.ones_like(asked.place, dtype=torch.bool), state=_carried(scene, state))

    def _through(self, x: Tensor, scene: Scene) -> Tensor:
        return RESIDUALS[self.config.residual](self.blocks, x, scene)

    def enter(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, asked: Asked | None = None
    ) -> tuple[Tensor, Scene]:
        """What the first layer is given, and what all of them share."""
        cache, memory = self._held(state, vectors.shape[1])
        past = (cache or memory).past if cache or memory else 0
        at = places(tokens, past)
        x = self._first(vectors, at)
        keys = torch.arange(past + vectors.shape[1], device=at.device) if past else at
        if cache and tokens.central is not None:
            do = "read the whole text at once"
            raise FirthError("tokens that see all cannot be marked in a text that is read bit by bit", do=do)
        seen = replace(view(self.config, tokens, past), window=self._window(vectors.shape[1]))
        scene = Scene(seen, None, cache, memory=memory, apart=segments_apart(self.config, tokens, asked, past))
        if asked is not None:
            return self._beside(x, scene, joined(seen, asked, past))
        return x, replace(scene, placed=self.positions.prepare(keys, vectors.shape[1]))

    def _beside(self, x: Tensor, scene: Scene, seen: View) -> tuple[Tensor, Scene]:
        """The tokens' first vectors with those of the places that are asked after them, and the scene of both."""
        count = x.shape[1]
        place = seen.queries.place[:, count:]
        x = torch.cat([x, self._first(self.query.expand(*place.shape, -1), place)], 1)
        placed = self.positions.prepare(seen.keys.place, seen.queries.place)
        return x, replace(scene, view=seen, placed=placed, content=count)

    def _held(self, state: State | None, more: int) -> tuple[Cache | None, Memory | None]:
        """What was read before: keys and values, or in training, where the model remembers, inputs of its layers."""
        if state is not None and NAME not in state.live:
            return Cache(state.live, more, self.memory), None
        return None, Memory(state, self._reach(more)) if self.memory else None

    def _reach(self, time: int) -> int:
        """How many tokens are remembered: in training fewer where rows are shorter than the context (Press et al.)."""
        context = self.config.context
        return max(1, self.memory * time // context) if self.training and time < context else self.memory

    def _first(self, vectors: Tensor, at: Tensor) -> Tensor:
        x = self.input_norm(self.positions.embed(vectors, at))
        return self.widen(F.dropout(x, self.config.dropout, self.training))

    def _window(self, time: int) -> int:
        """How far tokens of a row see: in training it may grow with the rows (Beltagy et al. 2020)."""
        config = self.config
        if not (config.window_grows and self.training):
            return config.window
        return max(1, min(config.window, config.window * time // config.context))

    @torch.no_grad()
    def attention(self, vectors: Tensor, tokens: Tokens, layer: int) -> Tensor:
        """How much each token takes from each in one layer (batch, heads, time, time); only layers below it are run."""
        x, scene = self.enter(vectors, tokens)
        # of two streams, the second is what attention reads
        x = RESIDUALS[self.config.residual](self.blocks[:layer], x, scene)[..., -self.config.width :]
        part = self.blocks[layer].attention
        return part.inner.weights(part.before(x), self.blocks[layer].given(x, scene))

    def _start_values(self) -> None:
        """Normal; what adds to the sum starts smaller, so that depth does not make it grow (Radford et al. 2019)."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                adds = name.endswith("output")
                spread = self.config.spread / math.sqrt(2 * self.config.depth) if adds else self.config.spread
                nn.init.normal_(module.weight, std=spread)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if not self.config.scaled:  # what scores are not divided by, queries are at the start (Raffel et al. 2020)
            for module in self.modules():
                if isinstance(module, Heads):
                    module.inputs.weight.data[: module.heads * module.width] /= math.sqrt(module.width)


def _alone(config: Transformer) -> bool:
    """Whether all but attention's means is worked out for each token by itself, so that padding can be left out."""
    joined = config.memory or config.central_projections or config.residual != "plain" or config.positions == "infused"
    return not joined and set(config.attends) == {"full"} and config.sees != "permuted"


def _check(config: Transformer) -> None:
    """Refuse widths that do not fit together."""
    if config.width % config.heads and not config.head_width:
        what = f"backbone.width = {config.width} cannot be shared by {config.heads} heads"
        raise FirthError(what, do="choose a width that backbone.heads divides")
    if config.positions == "rotary" and head_width(config) % 2:
        what = f"rotary positions turn pairs, and a head is {head_width(config)} wide"
        raise FirthError(what, do="choose heads of an even width")
    _check_window(config)
    _check_memory(config)


def _carried(scene: Scene, state: State | None) -> State | None:
    """What a pass leaves for the next."""
    held = scene.cache or scene.memory
    return None if held is None else State(source={} if state is None else state.source, live=held.live)


def _check_memory(config: Transformer) -> None:
    """Refuse places that what is remembered, or an order of its own, would contradict."""
    if (config.memory or config.sees == "permuted") and config.positions not in CARRIED:
        what = f"positions = {config.positions} are places in one row, and backbone.memory or sees = permuted go beyond"
        raise FirthError(what, where="backbone", do=f"set backbone.positions to one of {', '.join(CARRIED)}")
    if config.relative_segments and POSITIONS[config.positions].relation.bias is Relation.bias:
        what = f"positions = {config.positions} add nothing to scores, as relative segments do"
        raise FirthError(what, where="backbone.relative_segments", do="set backbone.positions=xl")
    if config.memory and config.central != "none":
        what = "a text's first token, which all are to see, is forgotten in time"
        raise FirthError(what, where="backbone.central", do="set it to none, or backbone.memory to 0")
    if config.sees == "permuted" and config.positions == "infused":
        do = "set backbone.positions=xl"
        raise FirthError("infused places know no token that is not there yet", where="backbone.sees", do=do)


def _check_window(config: Transformer) -> None:
    """Refuse options of a window where there is none, and a banded kernel for what is not near."""
    if not config.window and (config.dilation or config.window_grows or config.kernel == "banded"):
        what = "backbone.dilation, window_grows and kernel = banded are of a window, and there is none"
        raise FirthError(what, do="set backbone.window")
    if config.dilated_heads > config.heads:
        what = f"backbone.dilated_heads = {config.dilated_heads}, and a layer has {config.heads} heads"
        raise FirthError(what, do="set it to fewer, or to 0 for all")
    if config.kernel == "banded" and POSITIONS[config.positions].relation.bias is not Relation.bias:
        what = f"the banded kernel adds nothing to scores, as positions = {config.positions} would"
        raise FirthError(what, where="backbone", do="choose other positions, or set backbone.kernel=dense")
    if config.kernel == "banded" and config.sees not in ("left", "all"):
        what = f"backbone.sees = {config.sees} reaches beyond a band"
        raise FirthError(what, do="set backbone.kernel=dense")
