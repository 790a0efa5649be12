"""The network that each position goes through by itself."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from firth.config.schema import Transformer
from firth.nn.linear import Linear

ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's
    "relu": F.relu,
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """Wider, bent, and back."""

    def __init__(self, config: Transformer):
        super().__init__()
        inner = config.inner or 4 * config.width
        self.input = Linear(config.width, inner, bias=config.bias)
        self.gate = Linear(config.width, inner, bias=config.bias) if config.gated else None
        self.output = Linear(inner, config.width, bias=config.bias)
        self.activation, self.chunk = ACTIVATIONS[config.activation], config.chunk

    def forward(self, x: Tensor) -> Tensor:
        """x (…, time, width) -> the same shape, so many tokens at a time as configured (Kitaev et al. 2020)."""
        if not self.chunk or x.shape[-2] <= self.chunk:
            return self.whole(x)
        if not torch.is_grad_enabled():
            return torch.cat([self.whole(part) for part in x.split(self.chunk, -2)], -2)
        # inner vectors are worked out once more on the way back: kept, they would take as much memory as all at once
        parts = (checkpoint(self.whole, part, use_reentrant=False) for part in x.split(self.chunk, -2))
        return torch.cat(list(parts), -2)

    def whole(self, x: Tensor) -> Tensor:
        """The same for all tokens at once."""
        bent = self.activation(self.input(x))
        return self.output(bent if self.gate is None else bent * self.gate(x))
