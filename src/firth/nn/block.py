"""A layer of a Transformer: the one place that knows where the norms sit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.attention import Attention
from firth.nn.cache import Cache
from firth.nn.feedforward import FeedForward
from firth.nn.norm import NORMS
from firth.nn.patterns import View
from firth.nn.positions import Positions


class Block(nn.Module):
    """Attention, then the feed-forward network; each adds to what came in."""

    def __init__(self, config: Transformer):
        super().__init__()
        self.before, self.dropout = config.norm_at == "pre", config.dropout
        self.attention, self.feedforward = Attention(config), FeedForward(config)
        norm = NORMS[config.norm]
        self.attention_norm, self.feedforward_norm = norm(config.width, config.bias), norm(config.width, config.bias)

    def forward(
        self, x: Tensor, view: View, positions: Positions, angles: Any, cache: Cache | None, layer: int
    ) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        x = self._add(x, self.attention_norm, lambda y: self.attention(y, view, positions, angles, cache, layer))
        return self._add(x, self.feedforward_norm, self.feedforward)

    def _add(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.before:
            return x + F.dropout(part(norm(x)), self.dropout, self.training)
        return norm(x + F.dropout(part(x), self.dropout, self.training))
