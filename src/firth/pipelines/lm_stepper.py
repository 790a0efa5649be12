"""Incremental decoding with a causal network: one token per step, with the KV cache or recurrent state."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from firth.models.build import System
from firth.types import Batch, State, Tokens

_CONTEXT = "context"  # in a state's `live`: the token ids of its context


class NeuralStepper:
    """Takes a token per row and returns log-probabilities of the next; the KV cache is in the state.

    Where the model has a maximum length, the later half of the context is encoded anew each time it is full."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after the prompts but for their last token."""
        return self._encode(batch.streams["text"].ids[:, :-1])[1]

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        limit, live = self.system.backbone.max_length, dict(state.live)
        new = last[:, None]
        context, state = live.pop(_CONTEXT, new[:, :0]), replace(state, live=live)
        if limit and context.shape[1] == limit:
            return self._encode(torch.cat([context, new], 1))
        encoded = self.system.encode(_batch(new), state)
        state = self._with_context(encoded.state, torch.cat([context, new], 1))
        return self.system.log_probabilities(encoded.states[:, -1]), state

    def _encode(self, ids: Tensor) -> tuple[Tensor, State]:
        """Encode a context from its start (rows, time): log-probabilities of the next token, and the state. A context
        longer than the maximum length is cut at its start."""
        limit, length = self.system.backbone.max_length, ids.shape[1]
        if limit and length > limit:  # from the same positions on as where whole texts are scored
            half = max(1, limit // 2)
            ids = ids[:, -(-(length - limit) // half) * half :]
        state = self.system.backbone.start(len(ids), ids.device)
        if ids.shape[1] == 0:
            return torch.empty(len(ids), 0), self._with_context(state, ids)
        segment_length = self.system.backbone.segment_length or ids.shape[1]  # as where whole texts are scored
        for segment in ids.split(segment_length, 1):
            encoded = self.system.encode(_batch(segment, prefix=True), state)
            state = encoded.state
        return self.system.log_probabilities(encoded.states[:, -1]), self._with_context(state, ids)

    def _with_context(self, state: State, ids: Tensor) -> State:
        """The state with its context's token ids, where they are needed again."""
        return replace(state, live={**state.live, _CONTEXT: ids}) if self.system.backbone.max_length else state


def _batch(ids: Tensor, prefix: bool = False) -> Batch:
    """Token ids as a batch; as a `prefix` they attend to each other in both directions, in a prefix LM."""
    mask = torch.ones_like(ids, dtype=torch.bool)
    return Batch({"text": Tokens(ids, mask, prefix=mask if prefix else None)}, {})
