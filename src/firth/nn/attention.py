"""Multi-head attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.cache import Cache
from firth.nn.central import Chosen, Own, chosen, look_at_all, visible_to
from firth.nn.kernels import KERNELS, dense
from firth.nn.linear import Kept, Linear, linear
from firth.nn.memory import Memory
from firth.nn.patterns import View, head_steps
from firth.nn.positions import POSITIONS, Relation, head_width
from firth.nn.ragged import Ragged
from firth.nn.relative import Kinds


@dataclass(frozen=True)
class Source:
    """What cross attention looks at: states (batch, time, width), or each layer's keys and values of them."""

    view: View
    states: Tensor | None = None
    ready: Tensor | None = None  # (batch, depth, 2, heads, time, head width)


@dataclass(frozen=True)
class Scene:
    """What all layers of one pass share."""

    view: View  # who sees whom
    placed: Any  # what the scheme of positions has worked out
    cache: Cache | None = None  # keys and values of what was read before
    source: Source | None = None
    memory: Memory | None = None  # inputs of the layers at tokens read before
    content: int = 0  # so many of the tokens are looked at, the others only look (two streams); 0: all
    over: Tensor | None = None  # what this layer's keys and values are made of, if not of its input
    apart: Tensor | None = None  # (batch, queries, keys): True = of different segments
    ragged: Ragged | None = None  # given only the real tokens of rows, which of them they are
    decided: dict[int, Tensor] | None = None  # by layer: what a second pass must not decide anew (reversible layers)

    def keyed(self, x: Tensor) -> Tensor:
        """What keys and values are made of in a layer whose input is x."""
        return x if self.over is None else self.over


class Heads(nn.Module):
    """The products before and after attention."""

    parts = 3  # queries, keys, values

    def __init__(self, config: Transformer, layer: int):
        super().__init__()
        self.heads, self.width, self.dropout, self.layer = (
            config.heads,
            head_width(config),
            config.attention_dropout,
            layer,
        )
        self.scale = 1 / math.sqrt(self.width) if config.scaled else 1.0
        bias = config.bias and config.attention_bias
        self.inputs = Linear(config.width, self.parts * self.heads * self.width, bias=bias)
        self.output = Linear(self.heads * self.width, config.width, bias=bias)
        self.queried = Kept()

    def split(self, mixed: Tensor, parts: int) -> tuple[Tensor, ...]:
        """(batch, time, parts × width) -> each part (batch, heads, time, head width)."""
        batch, time, _ = mixed.shape
        return mixed.view(batch, time, parts, self.heads, self.width).permute(2, 0, 3, 1, 4).unbind(0)

    def some(self, x: Tensor, first: int, last: int) -> Tensor:
        """Only some of queries, keys and values (0 to 3) of x."""
        rows = slice(first * self.heads * self.width, last * self.heads * self.width)
        weight, bias = self.inputs.weight[rows], None if self.inputs.bias is None else self.inputs.bias[rows]
        if first:  # once for a source, so that it does not pay to keep another form of the matrix
            return F.linear(x, weight, bias)
        return linear(x, weight, bias, self.queried)

    def joined(self, found: Tensor, ragged: Ragged | None = None) -> Tensor:
        """(batch, heads, time, head width) -> (batch, time, width), or the real tokens of it."""
        found = found.transpose(1, 2).flatten(2)
        return self.output(found if ragged is None else ragged.packed(found))

    @property
    def dropped(self) -> float:
        """The share of weights that are left out now."""
        return self.dropout if self.training else 0.0


class Attention(Heads):
    """Each token takes a weighted mean over those it sees, in several heads."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        self.relation: Relation = POSITIONS[config.positions].relation(config)
        self.kernel, self.steps = KERNELS[config.kernel], head_steps(config, layer)
        self.central = Own(config) if config.central_projections else None
        self.kinds = Kinds(config) if config.relative_segments else None

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, keys, values, bias = self.prepared(x, scene)
        view = scene.view.with_steps(self.steps)
        found = self.kernel(queries, keys, values, view, bias, self.dropped, self.scale)
        who = None if self.central is None else chosen(view)
        if who is not None:
            found = who.put(found, look_at_all(*self.centrally(x, who, scene), who, view, self.dropped, self.scale))
        return self.joined(found, scene.ragged)

    def centrally(self, x: Tensor, who: Chosen, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the central tokens, keys and values of all, by their own products, with their places."""
        queries, keys, values = self.central(x, who)
        queries, keys = self.relation.turn(who.put(torch.zeros_like(keys), queries), keys, scene.placed)
        return who.take(queries), keys, values

    def prepared(self, x: Tensor, scene: Scene) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries, keys and values with their places, those read before included, and what is added to scores."""
        if scene.ragged is not None:
            queries, keys, values = self.split(scene.ragged.spread(self.inputs(x)), 3)
        else:
            queries, keys, values = self.products(*self.relation.infuse(x, scene.keyed(x), scene.placed))
        bias = self.relation.bias(queries, scene.placed)
        if self.kinds is not None:
            bias = bias + self.kinds(queries, scene.apart)
        queries, keys = self.relation.turn(queries, keys, scene.placed)
        if scene.cache is not None:
            keys, values = scene.cache.extend(self.layer, keys, values)
        return queries, keys, values, bias

    def products(self, x: Tensor, keyed: Tensor, told: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of what each is made of (batch, time, width)."""
        if x is keyed is told:
            return self.split(self.inputs(x), 3)
        if keyed is told:
            return *self.split(self.some(x, 0, 1), 1), *self.split(self.some(told, 1, 3), 2)
        return tuple(self.split(self.some(part, n, n + 1), 1)[0] for n, part in enumerate((x, keyed, told)))

    def weights(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each (batch, heads, queries, keys), worked out plainly."""
        queries, keys, _, bias = self.prepared(x, scene)
        view = scene.view.with_steps(self.steps)
        found = plain_weights(queries * self.scale, keys, view, bias)
        who = None if self.central is None else chosen(view)
        if who is None:
            return found
        queries, keys, _ = self.centrally(x, who, scene)
        return who.put(found, weights_over(queries * self.scale, keys, visible_to(who, view), None))


class CrossAttention(Heads):
    """Each token of the target takes a weighted mean over the source."""

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        source = scene.source
        if source.ready is not None and len(source.ready) != len(x):
            return self.joined(self.shared(x, source))
        queries, keys, values = self.prepared(x, source)
        return self.joined(dense(queries, keys, values, source.view, None, self.dropped, self.scale))

    def shared(self, x: Tensor, source: Source) -> Tensor:
        """Several hypotheses look at one source: as queries of one row, so that the source need not be repeated."""
        (queries,), ready = self.split(self.some(x, 0, 1), 1), source.ready[:, self.layer]
        rows, heads, time, width = queries.shape
        each, marks = rows // len(ready), source.view.keys
        view = replace(source.view, keys=marks._replace(mask=marks.mask[::each]))
        queries = queries.view(-1, each, heads, time, width).transpose(1, 2).flatten(2, 3)
        found = dense(queries, ready[:, 0], ready[:, 1], view, None, self.dropped, self.scale)
        return found.unflatten(2, (each, time)).transpose(1, 2).flatten(0, 1)

    def prepared(self, x: Tensor, source: Source) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the target, keys and values of the source."""
        (queries,) = self.split(self.some(x, 0, 1), 1)
        if source.ready is None:
            return queries, *self.read(source.states)
        ready = source.ready[:, self.layer]
        if len(ready) != len(queries):  # several hypotheses look at one source
            ready = ready.repeat_interleave(len(queries) // len(ready), 0)
        return queries, ready[:, 0], ready[:, 1]

    def read(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the source."""
        return self.split(self.some(states, 1, 3), 2)

    def weights(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each of the source (batch, heads, queries, keys)."""
        queries, keys, _ = self.prepared(x, scene.source)
        return plain_weights(queries * self.scale, keys, scene.source.view, None)


def plain_weights(queries: Tensor, keys: Tensor, view: View, bias: Tensor | None) -> Tensor:
    """Softmax of the products; a token that sees nothing has weights of 0."""
    return weights_over(queries, keys, view.seen, bias)


def weights_over(queries: Tensor, keys: Tensor, visible: Tensor, bias: Tensor | None) -> Tensor:
    """The same over the keys that are visible (batch or 1, heads or 1, queries, keys)."""
    scores = queries @ keys.transpose(-1, -2)
    scores = scores if bias is None else scores + bias
    return torch.softmax(scores.masked_fill(~visible, float("-inf")), -1).nan_to_num(0.0)
