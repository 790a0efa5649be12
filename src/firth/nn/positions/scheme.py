"""The interface of position encodings, and functions they share: sinusoids, relative distances.

`PositionEncoding.embed` adds positions to the token embeddings; `PositionEncoding.prepare` computes once what all
layers need; each layer's `LayerPositionEncoding` may rotate queries and keys, add positions to their inputs, or add a
bias to the attention scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from firth.config.schema import Transformer


class LayerPositionEncoding(nn.Module):
    """The part of a position encoding that acts in each attention layer: none by default."""

    def __init__(self, config: Transformer):
        super().__init__()

    def rotate(self, queries: Tensor, keys: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        """Queries and keys (batch, heads, time, head width) with positions applied, before their dot product."""
        return queries, keys

    def add_to_queries_and_keys(self, x: Tensor, kv: Tensor, state: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The inputs of the query, key and value projections, from the layer's input x and the input of keys and values
        kv (batch, time, width)."""
        return x, kv, kv

    def bias(self, queries: Tensor, state: Any) -> Tensor | None:
        """The bias of the attention scores, broadcast to (batch, heads, queries, keys); queries are not yet rotated."""
        return None

    # where the bias depends on query and distance alone, so that a banded kernel need not compute all of it:
    # (queries, distances, state) -> (batch, heads, queries, distances), a distance being query minus key position
    bias_at: Callable[..., Tensor] | None = None


class PositionEncoding(nn.Module):
    """Base class of position encodings: no positions."""

    layer_encoding: type[LayerPositionEncoding] = LayerPositionEncoding
    cacheable_keys = True  # whether the KV cache stays valid when the first position moves (segment recurrence)
    # whether hidden states hold no position, so that they can be reused in the next segment and in any order: relative
    # encodings, and those that count from the start of the memory
    reusable_states = True
    query_stream = True  # whether a query stream can have positions of its own (two-stream attention)

    def __init__(self, config: Transformer, width: int):
        super().__init__()

    def embed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        """Token embeddings (batch, time, width) with their positions (time) or (batch, time) added."""
        return vectors

    def prepare(self, positions: Tensor, queries: int | Tensor) -> Any:
        """What the layers' encodings need, computed once for all of them. `positions` are the keys'; `queries` is how
        many of the last are queries, or the positions of the queries (batch, queries)."""
        return None


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Interleaved sines and cosines of each position (…, width)."""
    angles = positions[..., None] * frequencies(width, positions.device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width]


def relative_distances(positions: Tensor, queries: int | Tensor) -> Tensor:
    """Key position minus query position: (queries, keys), or (batch, 1, queries, keys) of sequences' own positions."""
    query_positions = positions[..., -queries:] if isinstance(queries, int) else queries
    distance = positions[..., None, :] - query_positions[..., :, None]
    return distance[:, None] if distance.dim() == 3 else distance


def head_width(config: Transformer) -> int:
    """The width of one head's queries, keys and values."""
    return config.attention.head_width or config.width // config.heads


def frequencies(width: int, device: torch.device) -> Tensor:
    """Angular frequencies 1, …, 1/10000 in a geometric series, one for each pair of dimensions."""
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    return torch.exp(pairs * (-math.log(10_000.0) / width))
