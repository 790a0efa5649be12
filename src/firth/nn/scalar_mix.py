"""Scalar mix: a learned weighted mean of the layers of a network (ELMo; Peters et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class ScalarMix(nn.Module):
    """γ · Σ softmax(w)ₗ hₗ; at the start the plain mean."""

    def __init__(self, layers: int):
        super().__init__()
        self.weights, self.scale = nn.Parameter(torch.zeros(layers)), nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Layers (…, width) -> their mean (…, width)."""
        shares = self.weights.softmax(0)
        mixed = layers[0] * shares[0]
        for share, layer in zip(shares[1:], layers[1:], strict=True):
            mixed = mixed + share * layer
        return self.scale * mixed
