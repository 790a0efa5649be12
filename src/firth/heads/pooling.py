"""One vector for a whole text, and what is told from it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema

SPREAD = 0.02  # of the start values
BENDS = {"tanh": torch.tanh, "gelu": F.gelu, "relu": F.relu}


def pool(states: Tensor, mask: Tensor, how: str) -> Tensor:
    """states (batch, time, width) and mask (batch, time) -> (batch, width): of the first or last token, or the mean."""
    if how == "mean":
        real = mask[..., None].to(states.dtype)
        return (states * real).sum(1) / real.sum(1)
    at = mask.sum(1) - 1 if how == "last" else torch.zeros_like(mask[:, 0], dtype=torch.long)
    return states.gather(1, at[:, None, None].expand(-1, 1, states.shape[2])).squeeze(1)


class ClassHead(nn.Module):
    """A score for each label: of a layer over the pooled state (Devlin et al. 2019), or of that state (GPT-1)."""

    def __init__(self, config: schema.ClassHead, classes: int, width: int, table_width: int):
        super().__init__()
        self.how, self.dropout, self.bend = config.pool, config.dropout, BENDS[config.activation]
        self.layer = nn.Linear(width, width) if config.layer else None
        self.classify = nn.Linear(width, classes, bias=config.bias)
        for part in (self.layer, self.classify):
            if part is not None:
                nn.init.normal_(part.weight, std=SPREAD)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """states (batch, time, width) -> scores (batch, classes)."""
        found = pool(states, mask, self.how)
        found = found if self.layer is None else self.bend(self.layer(found))
        return self.classify(F.dropout(found, self.dropout, self.training))


class VectorHead(nn.Module):
    """The pooled state itself; no weights of its own."""

    def __init__(self, config: schema.VectorHead, classes: int, width: int, table_width: int):
        super().__init__()
        self.how = config.pool

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """states (batch, time, width) -> vectors (batch, width)."""
        return pool(states, mask, self.how)
