"""Where a token stands: each scheme overrides one hook, `embed` or `rotate`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer


class Positions(nn.Module):
    """No positions: what every scheme starts from."""

    def __init__(self, config: Transformer):
        super().__init__()

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        """The tokens' vectors (batch, time, width) with their places, `at` (time) or (batch, time), in them."""
        return vectors

    def angles(self, at: Tensor) -> Any:
        """What `rotate` needs, worked out once for all layers."""
        return None

    def rotate(self, x: Tensor, angles: Any) -> Tensor:
        """Queries or keys (batch, heads, time, head width) turned by their places."""
        return x


class Learned(Positions):
    """A vector for each place, added to the token's (Gehring et al. 2017)."""

    def __init__(self, config: Transformer):
        super().__init__(config)
        self.weight = nn.Parameter(torch.empty(config.context, config.width).normal_(std=config.spread))

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        return vectors + F.embedding(at, self.weight)


class Sinusoidal(Positions):
    """Sines and cosines of growing wavelengths, added to the token's vector (Vaswani et al. 2017)."""

    def __init__(self, config: Transformer):
        super().__init__(config)
        self.width = config.width

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        angles = at[..., None] * _frequencies(self.width, at.device)
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)  # sine and cosine take turns
        return vectors + waves[..., : self.width].to(vectors.dtype)


class Rotary(Positions):
    """Pairs of numbers turned by an angle that grows with the place: products depend on distance (Su et al. 2021)."""

    def __init__(self, config: Transformer):
        super().__init__(config)
        self.width = config.width // config.heads

    def angles(self, at: Tensor) -> tuple[Tensor, Tensor]:
        angles = at[..., None] * _frequencies(self.width, at.device)  # ((batch,) time, half a head)
        angles = torch.cat([angles, angles], -1)
        angles = angles[:, None] if at.dim() == 2 else angles  # heads share them
        return angles.cos(), angles.sin()

    def rotate(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
        cos, sin = (part.to(x.dtype) for part in angles)
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat([-right, left], -1) * sin


def _frequencies(width: int, device: torch.device) -> Tensor:
    """1, …, 1/10000 in even steps of the logarithm, one for each pair of numbers."""
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    return torch.exp(pairs * (-math.log(10_000.0) / width))


POSITIONS = {"learned": Learned, "sinusoidal": Sinusoidal, "rotary": Rotary, "none": Positions}
