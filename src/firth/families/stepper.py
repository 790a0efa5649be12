"""A neural language model as step-wise decoding sees it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from firth.build import System
from firth.types import Batch, State, Tokens


class NeuralStepper:
    """Reads a token per row, gives log-probabilities of the next; all it remembers is in the state.

    Where the model can look at so many tokens only, it reads their later half anew each time they are full."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after the prompts but for their last token."""
        return self._read(batch.streams["text"].ids[:, :-1])[1]

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        limit, live = self.system.backbone.limit, dict(state.live)
        new = last[:, None]
        read, state = live.pop("read", new[:, :0]), replace(state, live=live)
        if limit and read.shape[1] == limit:
            return self._read(torch.cat([read, new], 1))
        encoded = self.system.encode(_text(new), state)
        state = self._remembering(encoded.state, torch.cat([read, new], 1))
        return self.system.log_probabilities(encoded.states[:, -1]), state

    def _read(self, ids: Tensor) -> tuple[Tensor, State]:
        """Read from the start on (rows, time): what comes next, and the state. Only the last tokens that fit count."""
        limit, read = self.system.backbone.limit, ids.shape[1]
        if limit and read > limit:  # from the same places on as where whole texts are scored
            half = max(1, limit // 2)
            ids = ids[:, -(-(read - limit) // half) * half :]
        state = self.system.backbone.start(len(ids), ids.device)
        if ids.shape[1] == 0:
            return torch.empty(len(ids), 0), self._remembering(state, ids)
        for piece in ids.split(self.system.backbone.segment or ids.shape[1], 1):  # as where whole texts are scored
            encoded = self.system.encode(_text(piece, known=True), state)
            state = encoded.state
        return self.system.log_probabilities(encoded.states[:, -1]), self._remembering(state, ids)

    def _remembering(self, state: State, ids: Tensor) -> State:
        """The state with the tokens that are in it, where they are needed again."""
        return replace(state, live={**state.live, "read": ids}) if self.system.backbone.limit else state


def _text(ids: Tensor, known: bool = False) -> Batch:
    """Tokens to be read; those that are `known` at once may be seen both ways, by a model that sees so."""
    mask = torch.ones_like(ids, dtype=torch.bool)
    return Batch({"text": Tokens(ids, mask, prefix=mask if known else None)}, {})
