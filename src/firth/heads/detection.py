"""A score at every position: is this token the right one?"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema


class DetectionHead(nn.Module):
    """A layer, bent, then one score; above 0 the token is more probably a wrong one (Clark et al. 2020)."""

    def __init__(self, config: schema.DetectionHead, outputs: int, width: int, table_width: int, spread: float = 0.02):
        super().__init__()
        self.dense, self.classify = nn.Linear(width, width), nn.Linear(width, 1)
        for layer in (self.dense, self.classify):
            nn.init.normal_(layer.weight, std=spread)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """states (…, width) -> scores (…)."""
        return self.classify(F.gelu(self.dense(states))).squeeze(-1)
