"""A network that reads one text and writes another, as step-wise decoding sees it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from firth.build import System
from firth.heads.copying import Looked
from firth.types import Batch, State, Tokens

IDS = "ids"  # of the source, in the state, where they may be copied


class Writer:
    """Reads the stream "source" at once, then what is written, the stream "text", token by token."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after the source, and after the beginnings of what is written but for their last token."""
        source, before = batch.streams["source"], batch.streams["text"].ids[:, :-1]
        state = self.system.backbone.start(self.system.vectors("source", source), source)
        if self.system.objective.copies:
            state = replace(state, source={**state.source, IDS: source.ids})
        return self._read(before, state)[1] if before.shape[1] else state

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        return self._read(last[:, None], state)

    def _read(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        tokens, system = Tokens(ids, torch.ones_like(ids, dtype=torch.bool)), self.system
        encoded = system.backbone.step(system.vectors("target", tokens), tokens, state)
        looked = ()
        if IDS in state.source:
            source = state.source[IDS].repeat_interleave(len(ids) // len(state.source[IDS]), 0)
            looked = (Looked(encoded.alignment[:, -1:], source),)
        chances = system.log_probabilities(encoded.states[:, -1:], *looked)[:, -1]
        return chances, replace(encoded.state, source=state.source)
