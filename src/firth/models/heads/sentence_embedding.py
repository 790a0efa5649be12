"""Sentence embedding head: one vector of a whole sequence."""

from __future__ import annotations

from torch import Tensor, nn

from firth.config import schema
from firth.nn.pooling import POOLINGS
from firth.types import Encoded


class PoolingHead(nn.Module):
    """The pooled state itself, as a sentence embedding."""

    def __init__(self, config: schema.PoolingHead, outputs: int, width: int, embedding_width: int):
        super().__init__()
        self.pooling = POOLINGS[config.pooling](width)

    def forward(self, encoded: Encoded) -> Tensor:
        """Hidden states (batch, time, width) -> vectors (batch, width)."""
        vectors: Tensor = self.pooling(encoded.states, encoded.mask, encoded.directions)
        return vectors.float()
