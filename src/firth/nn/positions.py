"""Where a token stands: each scheme overrides one hook of those in `places`."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.axial import AxialPlaces
from firth.nn.places import Positions, Relation, distances, frequencies, head_width, waves
from firth.nn.relative import Infused, Relative


class Learned(Positions):
    """A vector for each place, added to the token's (Gehring et al. 2017)."""

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.weight = nn.Parameter(torch.empty(config.context, width).normal_(std=config.spread))

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        return vectors + F.embedding(at, self.weight)


class Sinusoidal(Positions):
    """Sines and cosines of growing wavelengths, added to the token's vector (Vaswani et al. 2017)."""

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        return vectors + waves(at, vectors.shape[-1]).to(vectors.dtype)


class Turning(Relation):
    """Turns pairs of numbers by their angle."""

    def turn(self, queries: Tensor, keys: Tensor, placed: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return _turned(queries, *placed), _turned(keys, *placed)


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = (part[..., -x.shape[2] :, :].to(x.dtype) for part in (cos, sin))
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class Rotary(Positions):
    """Pairs of numbers turned by an angle that grows with the place: products depend on distance (Su et al. 2021)."""

    relation = Turning

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.width = head_width(config)

    def prepare(self, at: Tensor, queries: int) -> tuple[Tensor, Tensor]:
        angles = at[..., None] * frequencies(self.width, at.device)  # ((batch,) time, half a head)
        angles = torch.cat([angles, angles], -1)
        angles = angles[:, None] if at.dim() == 2 else angles  # heads share them
        return angles.cos(), angles.sin()


class Prepared(Relation):
    """Adds the bias that was prepared for all layers."""

    def bias(self, queries: Tensor, placed: Tensor) -> Tensor:
        return placed.to(queries.dtype)


class Alibi(Positions):
    """Scores fall with distance, at another rate in each head (Press et al. 2022)."""

    relation = Prepared

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.register_buffer("slopes", slopes(config.heads), persistent=False)

    def prepare(self, at: Tensor, queries: int) -> Tensor:
        return -self.slopes[:, None, None] * distances(at, queries).abs()


def slopes(heads: int) -> Tensor:
    """2^(-8/n), 2^(-16/n), … for n heads; if n is no power of 2, every other one of twice as many fill up."""
    power = 2 ** int(math.log2(heads))
    found = [2 ** (-8 * (n + 1) / power) for n in range(power)]
    return torch.tensor(found + ([] if power == heads else slopes(2 * power)[::2][: heads - power].tolist()))


class Bucketed(Positions):
    """A learned score for each range of distances and head, the same in all layers (Raffel et al. 2020)."""

    relation = Prepared
    BUCKETS, FAR = 32, 128  # half of the ranges are single distances, the others grow to FAR

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        self.both = config.sees != "left"
        self.weight = nn.Parameter(torch.empty(self.BUCKETS, config.heads).normal_(std=config.spread))

    def prepare(self, at: Tensor, queries: int) -> Tensor:
        found = F.embedding(self.ranges(distances(at, queries)), self.weight)  # ((batch, 1,) queries, keys, heads)
        return found.squeeze(1).movedim(-1, -3) if found.dim() == 5 else found.movedim(-1, -3)

    def ranges(self, distance: Tensor) -> Tensor:
        """Which range a distance (key's place less query's) is in."""
        count, first = self.BUCKETS, torch.zeros_like(distance)
        if self.both:
            count //= 2
            first = (distance > 0) * count
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)
        near = count // 2
        share = torch.log(distance.clamp(min=1).float() / near) / math.log(self.FAR / near)
        far = (near + (share * (count - near)).long()).clamp(max=count - 1)
        return first + torch.where(distance < near, distance, far)


POSITIONS = {
    "learned": Learned,
    "axial": AxialPlaces,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "t5": Bucketed,
    "xl": Relative,
    "infused": Infused,
    "none": Positions,
}
