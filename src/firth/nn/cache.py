"""Keys and values of the tokens read so far, so that each is worked out once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROOM = 64  # tokens: buffers grow to multiples of it, at least to twice their size


class Cache:
    """What attention reads on from: buffers with room for more, rows first, shared by states that follow each other.

    A state is a value: stepping twice from the same one must not disturb the first step's. So `filled` tells how far a
    buffer has been written by anyone, and whoever finds his own place taken copies it first."""

    def __init__(self, live: Mapping[str, Tensor], more: int, keep: int = 0):
        """Room for `more` tokens after those of a state, of which the last `keep` are looked at (0: all)."""
        self.keys, self.values, self.filled = live["keys"], live["values"], live["filled"]
        self.end = int(live["time"][0])  # in the buffers
        self.first = max(0, self.end - keep) if keep else 0
        self.past = self.end - self.first
        if self.end + more > self.keys.shape[3]:
            self._copy(max(2 * self.past, -(-(self.past + more) // ROOM) * ROOM))
        elif int(self.filled[0]) > self.end:
            self._copy(self.keys.shape[3])
        self.time = self.end + more
        self.filled.fill_(self.time)

    @staticmethod
    def start(rows: int, depth: int, heads: int, width: int, device: torch.device | str) -> dict[str, Tensor]:
        """Nothing read yet."""
        empty = torch.empty(rows, depth, heads, 0, width, device=device)
        none = torch.zeros(rows, dtype=torch.long, device=device)
        return {"keys": empty, "values": empty, "filled": none, "time": none.clone()}

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep a layer's new keys and values (batch, heads, new, head width); all of them so far."""
        for kept, new in ((self.keys, keys), (self.values, values)):
            kept[:, layer, :, self.end : self.time] = new
        return self.keys[:, layer, :, self.first : self.time], self.values[:, layer, :, self.first : self.time]

    @property
    def live(self) -> dict[str, Tensor]:
        """What the state carries on."""
        time = torch.full_like(self.filled, self.time)
        return {"keys": self.keys, "values": self.values, "filled": self.filled, "time": time}

    def _copy(self, room: int) -> None:
        def copied(old: Tensor) -> Tensor:
            new = old.new_empty(*old.shape[:3], room, old.shape[4])
            new[:, :, :, : self.past] = old[:, :, :, self.first : self.end]
            return new

        self.keys, self.values, self.filled = copied(self.keys), copied(self.values), self.filled.clone()
        self.first, self.end = 0, self.past
