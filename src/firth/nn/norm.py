"""Layer normalisation and RMS normalisation."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema


class LayerNorm(nn.Module):
    """Layer normalisation: mean 0 and variance 1 over the width, then a learned scale and shift (Ba et al. 2016)."""

    def __init__(self, width: int, bias: bool = True, epsilon: float = 1e-5):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """x (…, width) -> the same shape."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class RMSNorm(nn.Module):
    """Root mean square normalisation: mean square 1 over the width, then a learned scale (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, bias: bool = False, epsilon: float = 1e-6):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """x (…, width) -> the same shape."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


NORMS: dict[type, type[LayerNorm | RMSNorm]] = {schema.LayerNorm: LayerNorm, schema.RMSNorm: RMSNorm}


def build_norm(config: schema.Transformer, width: int = 0) -> LayerNorm | RMSNorm:
    """A norm as configured, by default of the Transformer's width."""
    return NORMS[type(config.norm)](width or config.width, config.bias, config.norm.epsilon)
