"""Absolute, rotary and bias position encodings, and the table of all of them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.config.schema import Transformer
from firth.nn.attention.mask import mask_pattern
from firth.nn.positions.axial import AxialPositions
from firth.nn.positions.relative import InfusedPositions, RelativePositions
from firth.nn.positions.scheme import (
    LayerPositionEncoding,
    PositionEncoding,
    frequencies,
    head_width,
    relative_distances,
    sinusoids,
)


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


POSITION_ENCODINGS: dict[type[schema.Positions], type[PositionEncoding]] = {
    schema.LearnedPositions: LearnedPositions,
    schema.AxialPositions: AxialPositions,
    schema.SinusoidalPositions: SinusoidalPositions,
    schema.RotaryPositions: RotaryPositions,
    schema.ALiBi: AlibiPositions,
    schema.T5Positions: T5Positions,
    schema.RelativePositions: RelativePositions,
    schema.InfusedPositions: InfusedPositions,
    schema.NoPositions: PositionEncoding,
}


def position_encoding(config: Transformer) -> type[PositionEncoding]:
    """The class of the configured position encoding."""
    return POSITION_ENCODINGS[type(config.positions)]
