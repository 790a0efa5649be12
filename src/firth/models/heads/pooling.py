"""Pooling of a sequence's hidden states into one vector, and classification of it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema

INIT_STD = 0.02  # standard deviation of the initial weights
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "gelu": F.gelu, "relu": F.relu}


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Hidden states (batch, time, width) -> (batch, width): the first or last token's, or the mean or maximum over the
    mask."""
    if pooling == "max":
        return states.masked_fill(~mask[..., None], -torch.inf).amax(1)
    if pooling == "mean":
        real = mask[..., None].to(states.dtype)
        return (states * real).sum(1) / real.sum(1)
    position = mask.sum(1) - 1 if pooling == "last" else torch.zeros_like(mask[:, 0], dtype=torch.long)
    return states.gather(1, position[:, None, None].expand(-1, 1, states.shape[2])).squeeze(1)


class ClassificationHead(nn.Module):
    """A logit for each class, from the pooled state through a pooler layer (Devlin et al. 2019) or directly (GPT-1)."""

    def __init__(self, config: schema.ClassificationHead, classes: int, width: int, embedding_width: int):
        super().__init__()
        self.pooling, self.dropout, self.activation = config.pooling, config.dropout, ACTIVATIONS[config.activation]
        self.pooler = nn.Linear(width, width) if config.pooler else None
        self.classifier = nn.Linear(width, classes, bias=config.bias)
        for layer in (self.pooler, self.classifier):
            if layer is not None:
                nn.init.normal_(layer.weight, std=INIT_STD)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Hidden states (batch, time, width) -> logits (batch, classes)."""
        pooled = pool(states, mask, self.pooling)
        pooled = pooled if self.pooler is None else self.activation(self.pooler(pooled))
        logits: Tensor = self.classifier(F.dropout(pooled, self.dropout, self.training))
        return logits


class PoolingHead(nn.Module):
    """The pooled state itself, as a sentence embedding; no parameters."""

    def __init__(self, config: schema.PoolingHead, classes: int, width: int, embedding_width: int):
        super().__init__()
        self.pooling = config.pooling

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Hidden states (batch, time, width) -> vectors (batch, width)."""
        return pool(states, mask, self.pooling)
