"""Discriminator head of replaced token detection (ELECTRA): one logit per token."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema


class DiscriminatorHead(nn.Module):
    """A dense layer with GELU, then one logit; above 0 the token was more probably replaced (Clark et al. 2020)."""

    def __init__(
        self,
        config: schema.DiscriminatorHead,
        outputs: int,
        width: int,
        embedding_width: int,
        init_std: float = 0.02,
    ):
        super().__init__()
        self.dense, self.classifier = nn.Linear(width, width), nn.Linear(width, 1)
        for layer in (self.dense, self.classifier):
            nn.init.normal_(layer.weight, std=init_std)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Hidden states (…, width) -> logits (…)."""
        logits: Tensor = self.classifier(F.gelu(self.dense(states)))
        return logits.squeeze(-1)
