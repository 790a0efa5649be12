"""Where a token stands: each scheme overrides one hook.

`embed` puts places into the tokens' vectors; `prepare` works out once what all layers need; and each layer's relation
may `turn` queries and keys by it, or add a `bias` to their products.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer


class Relation(nn.Module):
    """What one layer makes of places: nothing, unless a scheme says otherwise."""

    def __init__(self, config: Transformer):
        super().__init__()

    def turn(self, queries: Tensor, keys: Tensor, placed: Any) -> tuple[Tensor, Tensor]:
        """Queries and keys (batch, heads, time, head width) with their places in them."""
        return queries, keys

    def bias(self, queries: Tensor, placed: Any) -> Tensor | None:
        """What is added to the scores, broadcast to (batch, heads, queries, keys); queries have not been turned."""
        return None


class Positions(nn.Module):
    """No positions: what every scheme starts from."""

    relation: type[Relation] = Relation

    def __init__(self, config: Transformer, width: int):
        super().__init__()

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        """The tokens' vectors (batch, time, width) with their places, `at` (time) or (batch, time), in them."""
        return vectors

    def prepare(self, at: Tensor, queries: int) -> Any:
        """What relations need, worked out once for all layers; `at` are the keys' places, the queries' the last."""
        return None


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


def waves(at: Tensor, width: int) -> Tensor:
    """Sine and cosine in turns for each place (…, width)."""
    angles = at[..., None] * _frequencies(width, at.device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width]


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
        angles = at[..., None] * _frequencies(self.width, at.device)  # ((batch,) time, half a head)
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
        return found.squeeze(1).movedim(-1, -3) if at.dim() == 2 else found.movedim(-1, -3)

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


def distances(at: Tensor, queries: int) -> Tensor:
    """Key's place less query's: (queries, keys), or (batch, 1, queries, keys) where rows have places of their own."""
    found = at[..., None, :] - at[..., -queries:, None]
    return found[:, None] if at.dim() == 2 else found


def head_width(config: Transformer) -> int:
    """Of one head's queries, keys and values."""
    return config.head_width or config.width // config.heads


def _frequencies(width: int, device: torch.device) -> Tensor:
    """1, …, 1/10000 in even steps of the logarithm, one for each pair of numbers."""
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    return torch.exp(pairs * (-math.log(10_000.0) / width))


POSITIONS = {
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "t5": Bucketed,
    "none": Positions,
}
