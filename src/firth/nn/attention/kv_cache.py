"""The KV cache: keys and values of all past tokens, so that step-wise decoding computes each of them once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

KEYS, VALUES = "keys.", "values."  # names in `State.live`, followed by the layer's number
# Buffers grow to multiples of so many tokens, at least to twice their size; a beam search also reorders unused room.
BLOCK_SIZE = 16


class KVCache:
    """Preallocated buffers of keys and values (batch, heads, time, head width), shared by successive decoding states.

    A state is a value: stepping twice from the same state must not disturb the first step's result. So `filled` says
    how far a buffer has been written by any state, and a step that finds its own positions taken copies the buffer
    first.

    Each layer has its own buffers: a beam search reorders all of them at every step, and one allocation for all layers
    would be so large that the allocator takes fresh pages from the system each time."""

    def __init__(self, live: Mapping[str, Tensor], new_tokens: int, max_past: int = 0):
        """Make room for `new_tokens` after those of a state, of which the last `max_past` are attended to (0: all)."""
        depth = sum(name.startswith(KEYS) for name in live)
        self.keys, self.values = ([live[f"{name}{layer}"] for layer in range(depth)] for name in (KEYS, VALUES))
        self.filled, self.end = live["filled"], int(live["time"][0])  # positions in the buffers
        self.first = max(0, self.end - max_past) if max_past else 0
        self.past = self.end - self.first
        capacity = self.keys[0].shape[2] if depth else 0
        if self.end + new_tokens > capacity:
            self._copy(max(2 * self.past, -(-(self.past + new_tokens) // BLOCK_SIZE) * BLOCK_SIZE))
        elif int(self.filled[0]) > self.end:
            self._copy(capacity)
        self.time = self.end + new_tokens
        self.filled.fill_(self.time)

    @staticmethod
    def start(batch_size: int, depth: int, heads: int, width: int, device: torch.device | str) -> dict[str, Tensor]:
        """The entries of `State.live` before any token."""
        empty = torch.empty(batch_size, heads, 0, width, device=device)
        zero = torch.zeros(batch_size, dtype=torch.long, device=device)
        buffers = {f"{name}{layer}": empty for name in (KEYS, VALUES) for layer in range(depth)}
        return {**buffers, "filled": zero, "time": zero.clone()}

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append a layer's new keys and values (batch, heads, new, head width); return all of them so far."""
        for buffer, new in ((self.keys[layer], keys), (self.values[layer], values)):
            buffer.narrow(2, self.end, self.time - self.end).copy_(new)
        span = slice(self.first, self.time)
        return self.keys[layer][:, :, span], self.values[layer][:, :, span]

    @property
    def live(self) -> dict[str, Tensor]:
        """The entries of the next state's `State.live`."""
        time, parts = torch.full_like(self.filled, self.time), ((KEYS, self.keys), (VALUES, self.values))
        buffers = {f"{name}{layer}": buffer for name, layers in parts for layer, buffer in enumerate(layers)}
        return {**buffers, "filled": self.filled, "time": time}

    def _copy(self, capacity: int) -> None:
        def copy(old: Tensor) -> Tensor:
            new = old.new_empty(*old.shape[:2], capacity, old.shape[3])
            new[:, :, : self.past] = old[:, :, self.first : self.end]
            return new

        self.keys, self.values = ([copy(old) for old in part] for part in (self.keys, self.values))
        self.filled, self.first, self.end = self.filled.clone(), 0, self.past
