"""What turns a batch into vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import TokenInput
from firth.types import Tokens


class TokenEmbedding(nn.Module):
    """A vector per token. Its `weight` (vocabulary, width) may be the table of a tied head."""

    def __init__(self, config: TokenInput, vocabulary: int, width: int):
        super().__init__()
        self.dropout = config.dropout
        start = torch.empty(vocabulary, width).uniform_(-config.spread, config.spread)
        self.weight = nn.Parameter(start, requires_grad=not config.frozen)

    def forward(self, tokens: Tokens) -> Tensor:
        """tokens (batch, time) -> vectors (batch, time, width)."""
        return F.dropout(F.embedding(tokens.ids, self.weight), self.dropout, self.training)
