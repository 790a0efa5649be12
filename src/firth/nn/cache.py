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

    def __init__(self, live: Mapping[str, Tensor], more: int):
        self.keys, self.values, self.filled = live["keys"], live["values"], live["filled"]
        self.past = int(live["time"][0])
        self.time = self.past + more
        if self.time > self.keys.shape[3]:
            room = max(2 * self.keys.shape[3], -(-self.time // ROOM) * ROOM)
            self._copy(room)
        elif int(self.filled[0]) > self.past:
            self._copy(self.keys.shape[3])
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
            kept[:, layer, :, self.past : self.time] = new
        return self.keys[:, layer, :, : self.time], self.values[:, layer, :, : self.time]

    @property
    def live(self) -> dict[str, Tensor]:
        """What the state carries on."""
        time = torch.full_like(self.filled, self.time)
        return {"keys": self.keys, "values": self.values, "filled": self.filled, "time": time}

    def _copy(self, room: int) -> None:
        def copied(old: Tensor) -> Tensor:
            new = old.new_empty(*old.shape[:3], room, old.shape[4])
            new[:, :, :, : self.past] = old[:, :, :, : self.past]
            return new

        self.keys, self.values, self.filled = copied(self.keys), copied(self.values), self.filled.clone()
