"""One answer for a whole text, from the state of its first token."""

from __future__ import annotations

from torch import Tensor, nn


class PooledHead(nn.Module):
    """A layer over the state of [CLS], then a score for each class (Devlin et al. 2019)."""

    def __init__(self, width: int, classes: int, spread: float = 0.02):
        super().__init__()
        self.pool, self.classify = nn.Linear(width, width), nn.Linear(width, classes)
        for layer in (self.pool, self.classify):
            nn.init.normal_(layer.weight, std=spread)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """states (…, width) -> scores (…, classes)."""
        return self.classify(self.pool(states).tanh())
