"""Places that survive a move: distances between tokens, or places that are added anew wherever the row begins."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.linear import Linear
from firth.nn.places import Positions, Relation, distances, frequencies, head_width, waves
from firth.nn.streams import Asked
from firth.types import Tokens


class Spans(NamedTuple):
    """All distances that occur, and which of them each query and key have."""

    waves: Tensor  # (distances, width)
    index: Tensor  # (1 or batch, 1, queries, keys)


class Content(Relation):
    """Scores of a query with distances, and one bias for contents, another for distances (Dai et al. 2019, 3.3)."""

    def __init__(self, config: Transformer):
        super().__init__(config)
        heads, width = config.heads, head_width(config)
        self.heads, self.scale = heads, 1 / math.sqrt(width) if config.scaled else 1.0
        self.distance = Linear(config.width, heads * width, bias=False)
        self.content_bias, self.distance_bias = (
            nn.Parameter(torch.empty(heads, width).normal_(std=config.spread)) for _ in range(2)
        )

    def turn(self, queries: Tensor, keys: Tensor, placed: Spans) -> tuple[Tensor, Tensor]:
        return queries + self.content_bias[:, None].to(queries.dtype), keys

    def bias(self, queries: Tensor, placed: Spans) -> Tensor:
        far = self.distance(placed.waves.to(self.distance.weight.dtype))  # (distances, heads × head width)
        far = far.unflatten(-1, (self.heads, -1)).permute(1, 2, 0)  # (heads, head width, distances)
        scores = (queries + self.distance_bias[:, None].to(queries.dtype)) @ far.to(queries.dtype) * self.scale
        index = placed.index.expand(*scores.shape[:3], -1)
        return scores.gather(3, index)  # (batch, heads, queries, distances) -> (batch, heads, queries, keys)


class Relative(Positions):
    """Sines and cosines of distances, which queries are compared with (Dai et al. 2019)."""

    relation = Content

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.width, self.left, self.dropout = config.width, config.sees == "left", config.dropout

    def prepare(self, at: Tensor, queries: int | Tensor) -> Spans:
        before = -distances(at, queries)  # how far before the query the key stands
        least = 0 if self.left else int(before.min())  # what comes after is not seen where all look left
        span = torch.arange(least, int(before.max()) + 1, device=at.device)
        angles = span[:, None] * frequencies(self.width, at.device)
        found = torch.cat([angles.sin(), angles.cos()], -1)[:, : self.width]
        index = (before - least).clamp(min=0)
        index = index if index.dim() == 4 else index[None, None]
        return Spans(F.dropout(found, self.dropout, self.training), index)


class Infusing(Relation):
    """Adds places to what queries and keys are made of, not to what values are made of."""

    def infuse(self, x: Tensor, over: Tensor, placed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        placed = placed.to(x.dtype)
        return x + placed[..., -x.shape[1] :, :], over + placed, over


class Infused(Positions):
    """Sines and cosines of places from the start of what is remembered, so that states hold no place and can be used
    again at another (Press et al. 2021)."""

    relation = Infusing
    cached = False

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.width = config.width

    def prepare(self, at: Tensor, queries: int | Tensor) -> Tensor:
        return waves(at, self.width)


class Kinds(nn.Module):
    """Whether query and key are of one segment adds to their score (Yang et al. 2019, 2.5)."""

    def __init__(self, config: Transformer):
        super().__init__()
        heads, width = config.heads, head_width(config)
        self.scale = 1 / math.sqrt(width) if config.scaled else 1.0
        self.bias = nn.Parameter(torch.empty(heads, width).normal_(std=config.spread))
        self.weight = nn.Parameter(torch.empty(2, heads, width).normal_(std=config.spread))  # the same, another

    def forward(self, queries: Tensor, other: Tensor | None) -> Tensor:
        """queries (batch, heads, time, head width), other (batch, queries, keys): True = of another segment; None: all
        is one segment, which changes no share."""
        bias, weight = self.bias[:, None].to(queries.dtype), self.weight.permute(1, 2, 0).to(queries.dtype)
        scores = (queries + bias) @ weight * self.scale  # (batch, heads, queries, 2)
        if other is None:
            return scores[..., :1]
        return torch.where(other[:, None], scores[..., 1:], scores[..., :1])


def segments_apart(config: Transformer, tokens: Tokens, asked: Asked | None, past: int) -> Tensor | None:
    """Which queries and keys are of different segments (batch, queries, keys); None where that does not matter."""
    if not config.relative_segments or tokens.segment is None:
        return None
    keys = F.pad(tokens.segment, (past, 0))  # what was read before counts as the first kind
    queries = tokens.segment if asked is None else torch.cat([tokens.segment, asked.segment], 1)
    return queries[:, :, None] != keys[:, None, :]
