"""The position-wise feed-forward network of a Transformer layer, plain or gated (GLU)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from firth.config.schema import GatedFeedForward, Transformer
from firth.nn.linear import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
}


class FeedForward(nn.Module):
    """Two linear layers with an activation between; gated: the activation is of a third projection, the gate, by which
    the first is multiplied (GLU; Shazeer 2020)."""

    def __init__(self, config: Transformer):
        super().__init__()
        options = config.feedforward
        width, gated = options.width or 4 * config.width, isinstance(options, GatedFeedForward)
        self.up_proj = Linear(config.width, width, bias=config.bias, parts=("up",))
        self.gate_proj = Linear(config.width, width, bias=config.bias, parts=("gate",)) if gated else None
        self.down_proj = Linear(width, config.width, bias=config.bias, parts=("down",))
        self.activation, self.chunk_size = ACTIVATIONS[options.activation], options.chunk

    def forward(self, x: Tensor) -> Tensor:
        """x (…, time, width) -> the same shape, computed in chunks of tokens if so configured (Kitaev et al. 2020)."""
        if not self.chunk_size or x.shape[-2] <= self.chunk_size:
            return self.compute(x)
        if not torch.is_grad_enabled():
            return torch.cat([self.compute(chunk) for chunk in x.split(self.chunk_size, -2)], -2)
        # gradient checkpointing: storing the hidden activations of all chunks would take as much memory as no chunking
        chunks = (checkpoint(self.compute, chunk, use_reentrant=False) for chunk in x.split(self.chunk_size, -2))
        return torch.cat(list(chunks), -2)

    def compute(self, x: Tensor) -> Tensor:
        """The same for all tokens at once."""
        hidden = self.up_proj(x)
        hidden = self.activation(hidden) if self.gate_proj is None else self.activation(self.gate_proj(x)) * hidden
        output: Tensor = self.down_proj(hidden)
        return output
