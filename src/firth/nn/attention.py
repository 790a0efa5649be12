"""Multi-head attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.cache import Cache
from firth.nn.kernels import dense
from firth.nn.linear import Linear
from firth.nn.patterns import View
from firth.nn.positions import POSITIONS, Relation, head_width


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


class _Heads(nn.Module):
    """The products before and after attention."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__()
        self.heads, self.width, self.dropout, self.layer = (
            config.heads,
            head_width(config),
            config.attention_dropout,
            layer,
        )
        self.scale = 1 / math.sqrt(self.width) if config.scaled else 1.0
        self.inputs = Linear(config.width, 3 * self.heads * self.width, bias=config.bias)  # queries, keys, values
        self.output = Linear(self.heads * self.width, config.width, bias=config.bias)

    def split(self, mixed: Tensor, parts: int) -> tuple[Tensor, ...]:
        """(batch, time, parts × width) -> each part (batch, heads, time, head width)."""
        batch, time, _ = mixed.shape
        return mixed.view(batch, time, parts, self.heads, self.width).permute(2, 0, 3, 1, 4).unbind(0)

    def some(self, x: Tensor, first: int, last: int) -> Tensor:
        """Only some of queries, keys and values (0 to 3) of x."""
        rows = slice(first * self.heads * self.width, last * self.heads * self.width)
        bias = self.inputs.bias
        return F.linear(x, self.inputs.weight[rows], None if bias is None else bias[rows])

    def joined(self, found: Tensor) -> Tensor:
        """(batch, heads, time, head width) -> (batch, time, width)."""
        return self.output(found.transpose(1, 2).flatten(2))

    @property
    def dropped(self) -> float:
        """The share of weights that are left out now."""
        return self.dropout if self.training else 0.0


class Attention(_Heads):
    """Each token takes a weighted mean over those it sees, in several heads."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        self.relation: Relation = POSITIONS[config.positions].relation(config)

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, keys, values, bias = self.prepared(x, scene)
        return self.joined(dense(queries, keys, values, scene.view, bias, self.dropped, self.scale))

    def prepared(self, x: Tensor, scene: Scene) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries, keys and values with their places, those read before included, and what is added to scores."""
        queries, keys, values = self.split(self.inputs(x), 3)
        bias = self.relation.bias(queries, scene.placed)
        queries, keys = self.relation.turn(queries, keys, scene.placed)
        if scene.cache is not None:
            keys, values = scene.cache.extend(self.layer, keys, values)
        return queries, keys, values, bias

    def weights(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each (batch, heads, queries, keys), worked out plainly."""
        queries, keys, _, bias = self.prepared(x, scene)
        return plain_weights(queries * self.scale, keys, scene.view, bias)


class CrossAttention(_Heads):
    """Each token of the target takes a weighted mean over the source."""

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, keys, values = self.prepared(x, scene.source)
        return self.joined(dense(queries, keys, values, scene.source.view, None, self.dropped, self.scale))

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
    scores = queries @ keys.transpose(-1, -2)
    scores = scores if bias is None else scores + bias
    visible = view.visible(view.queries, view.keys)[:, None]
    return torch.softmax(scores.masked_fill(~visible, float("-inf")), -1).nan_to_num(0.0)
