"""What is remembered of the text before: each layer's inputs, kept as they were and projected anew."""

from __future__ import annotations

import torch
from torch import Tensor

from firth.types import State

NAME = "memory"  # in the state: (rows, depth, tokens, width)
# Schemes whose places do not go into the states: they know distances, or places from the start of what is remembered.
CARRIED = ("xl", "infused", "alibi", "t5", "none")


class Memory:
    """Inputs of all layers at the last tokens, without gradient into the pass that made them (Dai et al. 2019)."""

    def __init__(self, state: State | None, size: int):
        self.held = None if state is None else state.live[NAME]
        self.size = size
        self.past = 0 if self.held is None else min(size, self.held.shape[2])
        self._next: list[Tensor] = []

    @staticmethod
    def start(rows: int, depth: int, width: int, device: torch.device | str) -> dict[str, Tensor]:
        """Nothing remembered yet."""
        return {NAME: torch.zeros(rows, depth, 0, width, device=device)}

    def extend(self, layer: int, x: Tensor) -> Tensor:
        """A layer's new inputs (batch, time, width) after those that it remembers; the last of them are kept."""
        if self.past:
            x = torch.cat([self.held[:, layer, -self.past :].to(x.dtype), x], 1)
        self._next.append(x.detach()[:, -self.size :])
        return x

    @property
    def live(self) -> dict[str, Tensor]:
        """What the state carries on."""
        return {NAME: torch.stack([part.to(self._next[0].dtype) for part in self._next], 1)}
