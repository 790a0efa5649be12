"""Position encodings for segment recurrence: relative (Transformer-XL, XLNet), position-infused (Shortformer)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.attention.mask import mask_pattern
from firth.nn.attention.two_stream import QueryStream
from firth.nn.linear import Linear
from firth.nn.positions.encodings import (
    LayerPositionEncoding,
    PositionEncoding,
    frequencies,
    head_width,
    relative_distances,
    sinusoids,
)


@dataclass(frozen=True)
class RelativeDistances:
    """The encodings of all distances that occur, the smallest first."""

    sinusoids: Tensor  # (distances, width)
    smallest: int
    positions: Tensor  # of the keys
    queries: int | Tensor  # how many of the last are queries, or the queries' positions

    @cached_property
    def index(self) -> Tensor:
        """The row of the distance of each query and key (1 or batch, 1, queries, keys)."""
        index = (-relative_distances(self.positions, self.queries) - self.smallest).clamp(min=0)
        return index if index.dim() == 4 else index[None, None]


class RelativeLayerEncoding(LayerPositionEncoding):
    """Attention scores of queries with relative positions, with a content bias and a position bias (Dai et al. 2019,
    3.3)."""

    def __init__(self, config: Transformer):
        super().__init__(config)
        heads, width = config.heads, head_width(config)
        self.heads, self.scale = heads, 1 / math.sqrt(width) if config.attention.scaled else 1.0
        self.distance = Linear(config.width, heads * width, bias=False)
        self.content_bias, self.distance_bias = (
            nn.Parameter(torch.empty(heads, width).normal_(std=config.init_std)) for _ in range(2)
        )

    def rotate(self, queries: Tensor, keys: Tensor, state: RelativeDistances) -> tuple[Tensor, Tensor]:
        return queries + self.content_bias[:, None].to(queries.dtype), keys

    def bias(self, queries: Tensor, state: RelativeDistances) -> Tensor:
        scores = self._scores(queries, state.sinusoids)
        index = state.index.expand(*scores.shape[:3], -1)
        return scores.gather(3, index)  # (batch, heads, queries, distances) -> (batch, heads, queries, keys)

    def bias_at(self, queries: Tensor, distances: Tensor, state: RelativeDistances) -> Tensor:
        rows = (distances - state.smallest).clamp(0, len(state.sinusoids) - 1)
        return self._scores(queries, state.sinusoids.index_select(0, rows))

    def _scores(self, queries: Tensor, sinusoids: Tensor) -> Tensor:
        """Scores of queries with encoded distances (batch, heads, queries, distances)."""
        projected = self.distance(sinusoids.to(self.distance.weight.dtype))  # (distances, heads × head width)
        # (heads, head width, distances)
        position_keys: Tensor = projected.unflatten(-1, (self.heads, -1)).permute(1, 2, 0)
        return (queries + self.distance_bias[:, None].to(queries.dtype)) @ position_keys.to(queries.dtype) * self.scale


class RelativePositions(PositionEncoding):
    """Relative position encoding of Transformer-XL: queries attend to sinusoids of their distances to the keys (Dai et
    al. 2019)."""

    layer_encoding = RelativeLayerEncoding

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.width, self.causal, self.dropout = config.width, mask_pattern(config).causal, config.dropout

    def prepare(self, positions: Tensor, queries: int | Tensor) -> RelativeDistances:
        query_positions = positions[..., -queries:] if isinstance(queries, int) else queries
        # a causal mask hides later keys
        smallest = 0 if self.causal else int(query_positions.min() - positions.max())
        largest = int(query_positions.max() - positions.min())
        distances = torch.arange(smallest, largest + 1, device=positions.device)
        angles = distances[:, None] * frequencies(self.width, positions.device)
        encodings = torch.cat([angles.sin(), angles.cos()], -1)[:, : self.width]
        encodings = F.dropout(encodings, self.dropout, self.training)
        return RelativeDistances(encodings, smallest, positions, queries)


class InfusedLayerEncoding(LayerPositionEncoding):
    """Adds positions to the inputs of queries and keys, not of values."""

    def add_to_queries_and_keys(self, x: Tensor, kv: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        positions = state.to(x.dtype)
        return x + positions[..., -x.shape[1] :, :], kv + positions, kv


class InfusedPositions(PositionEncoding):
    """Position-infused attention (Shortformer; Press et al. 2021): sinusoids counted from the start of the memory,
    added to queries and keys in each layer, so that hidden states hold no position and can be reused at another."""

    layer_encoding = InfusedLayerEncoding
    cacheable_keys = False
    query_stream = False

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.width = config.width

    def prepare(self, positions: Tensor, queries: int | Tensor) -> Tensor:
        return sinusoids(positions, self.width)


class RelativeSegmentEncoding(nn.Module):
    """Relative segment encoding: a bias of the scores by whether query and key are of one segment (Yang et al. 2019,
    2.5)."""

    def __init__(self, config: Transformer):
        super().__init__()
        heads, width = config.heads, head_width(config)
        self.scale = 1 / math.sqrt(width) if config.attention.scaled else 1.0
        self.bias = nn.Parameter(torch.empty(heads, width).normal_(std=config.init_std))
        self.weight = nn.Parameter(torch.empty(2, heads, width).normal_(std=config.init_std))  # same, different

    def forward(self, queries: Tensor, different_segments: Tensor | None) -> Tensor:
        """queries (batch, heads, time, head width), different_segments (batch, queries, keys) -> bias of the scores.
        None: all is one segment; the bias is then constant over keys and changes no attention weight."""
        bias, weight = self.bias[:, None].to(queries.dtype), self.weight.permute(1, 2, 0).to(queries.dtype)
        scores = (queries + bias) @ weight * self.scale  # (batch, heads, queries, 2)
        if different_segments is None:
            return scores[..., :1]
        return torch.where(different_segments[:, None], scores[..., 1:], scores[..., :1])


def different_segments(segment: Tensor, query_stream: QueryStream | None, past: int) -> Tensor:
    """Which queries and keys are of different segments (batch, queries, keys), from the segments (batch, time)."""
    keys = F.pad(segment, (past, 0))  # the memory counts as the first segment
    queries = segment
    if query_stream is not None:
        assert query_stream.segment is not None
        queries = torch.cat([queries, query_stream.segment], 1)
    return queries[:, :, None] != keys[:, None, :]
