"""Keys and values of the tokens read so far, so that each is worked out once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

KEYS, VALUES = "keys.", "values."  # and a layer's number: their names in a state
ROOM = 16  # tokens: buffers grow to multiples of it, at least to twice their size; what is unused is reordered too


class Cache:
    """What attention reads on from: buffers with room for more, rows first, shared by states that follow each other.

    A state is a value: stepping twice from the same one must not disturb the first step's. So `filled` tells how far a
    buffer has been written by anyone, and whoever finds his own place taken copies it first.

    Each layer has buffers of its own: a beam search reorders all of them at every step, and memory for one that holds
    all layers would come fresh from the system, page by page, each time."""

    def __init__(self, live: Mapping[str, Tensor], more: int, keep: int = 0):
        """Room for `more` tokens after those of a state, of which the last `keep` are looked at (0: all)."""
        depth = sum(name.startswith(KEYS) for name in live)
        self.keys, self.values = ([live[f"{name}{layer}"] for layer in range(depth)] for name in (KEYS, VALUES))
        self.filled, self.end = live["filled"], int(live["time"][0])  # in the buffers
        self.first = max(0, self.end - keep) if keep else 0
        self.past = self.end - self.first
        room = self.keys[0].shape[2] if depth else 0
        if self.end + more > room:
            self._copy(max(2 * self.past, -(-(self.past + more) // ROOM) * ROOM))
        elif int(self.filled[0]) > self.end:
            self._copy(room)
        self.time = self.end + more
        self.filled.fill_(self.time)

    @staticmethod
    def start(rows: int, depth: int, heads: int, width: int, device: torch.device | str) -> dict[str, Tensor]:
        """Nothing read yet."""
        empty = torch.empty(rows, heads, 0, width, device=device)
        none = torch.zeros(rows, dtype=torch.long, device=device)
        buffers = {f"{name}{layer}": empty for name in (KEYS, VALUES) for layer in range(depth)}
        return {**buffers, "filled": none, "time": none.clone()}

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep a layer's new keys and values (batch, heads, new, head width); all of them so far."""
        for kept, new in ((self.keys[layer], keys), (self.values[layer], values)):
            kept.narrow(2, self.end, self.time - self.end).copy_(new)
        return tuple(kept[layer][:, :, self.first : self.time] for kept in (self.keys, self.values))

    @property
    def live(self) -> dict[str, Tensor]:
        """What the state carries on."""
        time, parts = torch.full_like(self.filled, self.time), ((KEYS, self.keys), (VALUES, self.values))
        buffers = {f"{name}{layer}": kept for name, part in parts for layer, kept in enumerate(part)}
        return {**buffers, "filled": self.filled, "time": time}

    def _copy(self, room: int) -> None:
        def copied(old: Tensor) -> Tensor:
            new = old.new_empty(*old.shape[:2], room, old.shape[3])
            new[:, :, : self.past] = old[:, :, self.first : self.end]
            return new

        self.keys, self.values = ([copied(old) for old in part] for part in (self.keys, self.values))
        self.filled, self.first, self.end = self.filled.clone(), 0, self.past
