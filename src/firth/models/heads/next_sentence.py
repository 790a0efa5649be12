"""Next sentence prediction head: a classification of segment pairs from the state of [CLS]."""

from __future__ import annotations

from torch import Tensor, nn


class NextSentenceHead(nn.Module):
    """A pooler (dense layer with tanh) over the state of [CLS], then a logit for each class (Devlin et al. 2019)."""

    def __init__(self, width: int, classes: int, init_std: float = 0.02):
        super().__init__()
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)
        for layer in (self.pooler, self.classifier):
            nn.init.normal_(layer.weight, std=init_std)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Hidden states (…, width) -> logits (…, classes)."""
        logits: Tensor = self.classifier(self.pooler(states).tanh())
        return logits
