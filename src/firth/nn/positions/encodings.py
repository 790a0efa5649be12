"""The interface of position encodings, and the absolute, rotary and bias encodings.

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
from torch.nn import functional as F

from firth.config import schema
from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.attention.mask import mask_pattern


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
    if config.width % config.heads and not config.attention.head_width:
        what = f"backbone.width = {config.width} is not divisible by {config.heads} heads"
        raise FirthError(what, do="choose a width that backbone.heads divides")
    return config.attention.head_width or config.width // config.heads


def has_relative_segments(config: Transformer) -> bool:
    """Whether relative positions encode segments too."""
    return isinstance(config.positions, schema.RelativePositions) and config.positions.segments


def frequencies(width: int, device: torch.device) -> Tensor:
    """Angular frequencies 1, …, 1/10000 in a geometric series, one for each pair of dimensions."""
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    return torch.exp(pairs * (-math.log(10_000.0) / width))


class LearnedPositions(PositionEncoding):
    """A learned embedding for each position, added to the token embedding (Gehring et al. 2017)."""

    reusable_states = False

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.weight = nn.Parameter(torch.empty(config.context, width).normal_(std=config.init_std))

    def embed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        return vectors + F.embedding(positions, self.weight)


class SinusoidalPositions(PositionEncoding):
    """Sines and cosines of geometrically growing wavelengths, added to the token embedding (Vaswani et al. 2017)."""

    reusable_states = False

    def embed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        return vectors + sinusoids(positions, vectors.shape[-1]).to(vectors.dtype)


class RotaryLayerEncoding(LayerPositionEncoding):
    """Rotates pairs of dimensions of queries and keys by the angle of their position."""

    def rotate(self, queries: Tensor, keys: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return _rotate(queries, *state), _rotate(keys, *state)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = (part[..., -x.shape[2] :, :].to(x.dtype) for part in (cos, sin))
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class RotaryPositions(PositionEncoding):
    """Rotary position encoding (RoPE): dot products of rotated queries and keys depend on their distance (Su et al.
    2021)."""

    reusable_states = False
    layer_encoding = RotaryLayerEncoding

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.head_width = head_width(config)
        if self.head_width % 2:
            what = f"rotary positions need an even head width, and it is {self.head_width}"
            raise FirthError(what, do="choose backbone.width and backbone.heads so that each head has an even width")

    def prepare(self, positions: Tensor, queries: int | Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[..., None] * frequencies(self.head_width, positions.device)  # ((batch,) time, half a head)
        angles = torch.cat([angles, angles], -1)
        angles = angles[:, None] if positions.dim() == 2 else angles  # heads share them
        return angles.cos(), angles.sin()


class AdditiveBias(LayerPositionEncoding):
    """Adds the bias that `prepare` computed for all layers to the attention scores."""

    def bias(self, queries: Tensor, state: Tensor) -> Tensor:
        return state.to(queries.dtype)


class AlibiPositions(PositionEncoding):
    """ALiBi: attention scores decrease linearly with distance, with another slope in each head (Press et al. 2022)."""

    layer_encoding = AdditiveBias
    slopes: Tensor

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.register_buffer("slopes", alibi_slopes(config.heads), persistent=False)

    def prepare(self, positions: Tensor, queries: int | Tensor) -> Tensor:
        return -self.slopes[:, None, None] * relative_distances(positions, queries).abs()


def alibi_slopes(heads: int) -> Tensor:
    """2^(-8/n), 2^(-16/n), … for n heads; if n is no power of 2, completed by every other slope of twice as many."""
    power = 2 ** int(math.log2(heads))
    values = [2 ** (-8 * (n + 1) / power) for n in range(power)]
    return torch.tensor(values + ([] if power == heads else alibi_slopes(2 * power)[::2][: heads - power].tolist()))


class T5Positions(PositionEncoding):
    """T5 relative position bias: a learned bias for each bucket of distances and head, shared by all layers (Raffel et
    al. 2020)."""

    layer_encoding = AdditiveBias
    BUCKETS, MAX_DISTANCE = 32, 128  # half the buckets hold one distance each, the others grow up to MAX_DISTANCE

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.bidirectional = not mask_pattern(config).causal
        self.weight = nn.Parameter(torch.empty(self.BUCKETS, config.heads).normal_(std=config.init_std))

    def prepare(self, positions: Tensor, queries: int | Tensor) -> Tensor:
        buckets = self.bucket(relative_distances(positions, queries))
        bias = F.embedding(buckets, self.weight)  # ((batch, 1,) queries, keys, heads)
        return bias.squeeze(1).movedim(-1, -3) if bias.dim() == 5 else bias.movedim(-1, -3)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance (key position minus query position)."""
        count, first = self.BUCKETS, torch.zeros_like(distance)
        if self.bidirectional:
            count //= 2
            first = (distance > 0) * count
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)
        exact = count // 2
        fraction = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.MAX_DISTANCE / exact)
        far = (exact + (fraction * (count - exact)).long()).clamp(max=count - 1)
        return first + torch.where(distance < exact, distance, far)
