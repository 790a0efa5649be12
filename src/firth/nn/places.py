"""What every scheme of positions is made of: its hooks, distances and waves.

`embed` puts places into the tokens' vectors; `prepare` works out once what all layers need; and each layer's relation
may `turn` queries and keys by it, or add a `bias` to their products.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from firth.config.schema import Transformer


class Relation(nn.Module):
    """What one layer makes of places: nothing, unless a scheme says otherwise."""

    def __init__(self, config: Transformer):
        super().__init__()

    def turn(self, queries: Tensor, keys: Tensor, placed: Any) -> tuple[Tensor, Tensor]:
        """Queries and keys (batch, heads, time, head width) with their places in them."""
        return queries, keys

    def infuse(self, x: Tensor, over: Tensor, placed: Any) -> tuple[Tensor, Tensor, Tensor]:
        """What queries, keys and values are made of: x (batch, time, width), and what it looks at."""
        return x, over, over

    def bias(self, queries: Tensor, placed: Any) -> Tensor | None:
        """What is added to the scores, broadcast to (batch, heads, queries, keys); queries have not been turned."""
        return None


class Positions(nn.Module):
    """No positions: what every scheme starts from."""

    relation: type[Relation] = Relation
    cached = True  # whether a key that was made once can be kept: it is the same wherever the row begins

    def __init__(self, config: Transformer, width: int):
        super().__init__()

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        """The tokens' vectors (batch, time, width) with their places, `at` (time) or (batch, time), in them."""
        return vectors

    def prepare(self, at: Tensor, queries: int | Tensor) -> Any:
        """What relations need, worked out once for all layers; `at` are the keys' places, and the queries' are the last
        of them, so many, or given (batch, queries)."""
        return None


def waves(at: Tensor, width: int) -> Tensor:
    """Sine and cosine in turns for each place (…, width)."""
    angles = at[..., None] * frequencies(width, at.device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width]


def distances(at: Tensor, queries: int | Tensor) -> Tensor:
    """Key's place less query's: (queries, keys), or (batch, 1, queries, keys) where rows have places of their own."""
    asking = at[..., -queries:] if isinstance(queries, int) else queries
    found = at[..., None, :] - asking[..., :, None]
    return found[:, None] if found.dim() == 3 else found


def head_width(config: Transformer) -> int:
    """Of one head's queries, keys and values."""
    return config.head_width or config.width // config.heads


def frequencies(width: int, device: torch.device) -> Tensor:
    """1, …, 1/10000 in even steps of the logarithm, one for each pair of numbers."""
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    return torch.exp(pairs * (-math.log(10_000.0) / width))
