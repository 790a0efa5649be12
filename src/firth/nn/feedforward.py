"""The network that each position goes through by itself."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

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
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """x (…, width) -> the same shape."""
        bent = self.activation(self.input(x))
        return self.output(bent if self.gate is None else bent * self.gate(x))
