"""Multi-head attention (Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.cache import Cache
from firth.nn.linear import Linear
from firth.nn.patterns import View
from firth.nn.positions import Positions


class Attention(nn.Module):
    """Each token takes a weighted mean over those it sees, in several heads."""

    def __init__(self, config: Transformer):
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.inputs = Linear(config.width, 3 * config.width, bias=config.bias)  # queries, keys, values
        self.output = Linear(config.width, config.width, bias=config.bias)

    def forward(
        self, x: Tensor, view: View, positions: Positions, angles: Any, cache: Cache | None, layer: int
    ) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        batch, time, width = x.shape
        mixed = self.inputs(x).view(batch, time, 3, self.heads, width // self.heads)
        queries, keys, values = mixed.permute(2, 0, 3, 1, 4)  # each (batch, heads, time, head width)
        queries, keys = positions.rotate(queries, angles), positions.rotate(keys, angles)
        if cache is not None:
            keys, values = cache.extend(layer, keys, values)
        dropout = self.dropout if self.training else 0.0
        found = F.scaled_dot_product_attention(queries, keys, values, view.mask, dropout, view.causal)
        return self.output(found.transpose(1, 2).reshape(batch, time, width))
