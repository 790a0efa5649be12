"""A network that reads one text and writes another, as step-wise decoding sees it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from firth.build import System
from firth.types import Batch, State, Tokens


class Writer:
    """Reads the stream "source" at once, then what is written, the stream "text", token by token."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after the source, and after the beginnings of what is written but for their last token."""
        source, before = batch.streams["source"], batch.streams["text"].ids[:, :-1]
        state = self.system.backbone.start(self.system.input(source), source)
        return self._read(before, state)[1] if before.shape[1] else state

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        states, state = self._read(last[:, None], state)
        return self.system.log_probabilities(states[:, -1]), state

    def _read(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        tokens = Tokens(ids, torch.ones_like(ids, dtype=torch.bool))
        encoded = self.system.backbone.step(self.system.input(tokens), tokens, state)
        return encoded.states, replace(encoded.state, source=state.source)
