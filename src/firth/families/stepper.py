"""A neural language model as step-wise decoding sees it."""

from __future__ import annotations

import torch
from torch import Tensor

from firth.build import System
from firth.types import Batch, State, Tokens


class NeuralStepper:
    """Reads a token per row, gives log-probabilities of the next; all it remembers is in the state."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after the prompts but for their last token."""
        ids = batch.streams["text"].ids
        if ids.shape[1] == 1:
            return self.system.backbone.start(ids.shape[0], ids.device)
        return self.system.encode(_text(ids[:, :-1])).state

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        encoded = self.system.encode(_text(last[:, None]), state)
        return self.system.log_probabilities(encoded.states)[:, -1], encoded.state


def _text(ids: Tensor) -> Batch:
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})
