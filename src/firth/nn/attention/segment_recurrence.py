"""Segment recurrence (Transformer-XL; Dai et al. 2019): each layer's inputs of the previous segment, detached, and
projected to keys and values again."""

from __future__ import annotations

import torch
from torch import Tensor

from firth.types import State

MEMORY = "memory"  # name in `State.live`: (batch, depth, tokens, width)


class SegmentMemory:
    """The inputs of all layers at the last `length` tokens, without gradient to the previous segment."""

    def __init__(self, state: State | None, length: int):
        self.states = None if state is None else state.live[MEMORY]
        self.length = length
        self.past = 0 if self.states is None else min(length, self.states.shape[2])
        self._next: list[Tensor] = []

    @staticmethod
    def start(batch_size: int, depth: int, width: int, device: torch.device | str) -> dict[str, Tensor]:
        """The entries of `State.live` before any token."""
        return {MEMORY: torch.zeros(batch_size, depth, 0, width, device=device)}

    def extend(self, layer: int, x: Tensor) -> Tensor:
        """A layer's memory followed by its new inputs (batch, time, width); the last ones become the next memory."""
        if self.states is not None and self.past:
            x = torch.cat([self.states[:, layer, -self.past :].to(x.dtype), x], 1)
        self._next.append(x.detach()[:, -self.length :])
        return x

    @property
    def live(self) -> dict[str, Tensor]:
        """The entries of the next state's `State.live`."""
        return {MEMORY: torch.stack([states.to(self._next[0].dtype) for states in self._next], 1)}
