"""Incremental decoding with an encoder-decoder: the source is encoded once, the target generated token by token."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from firth.models.build import System
from firth.models.heads.lm_head import CopyDistribution
from firth.types import Batch, State, Tokens

IDS = "ids"  # of the source, in the state, where the model copies (pointer-generator)


class Seq2SeqStepper:
    """Encodes the stream "source" once, then decodes the target, the stream "text", token by token."""

    def __init__(self, system: System, size: int) -> None:
        self.system, self.size = system, size

    @torch.no_grad()
    def start(self, batch: Batch) -> State:
        """The state after encoding the source and the target prompts but for their last token."""
        source, before = batch.streams["source"], batch.streams["text"].ids[:, :-1]
        state = self.system.backbone.start(self.system.embed("source", source), source)
        if self.system.objective.copies:
            state = replace(state, source={**state.source, IDS: source.ids})
        return self._decode(before, state)[1] if before.shape[1] else state

    @torch.no_grad()
    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        return self._decode(last[:, None], state)

    def _decode(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        tokens, system = Tokens(ids, torch.ones_like(ids, dtype=torch.bool)), self.system
        encoded = system.backbone.step(system.embed("target", tokens), tokens, state)
        copy = ()
        if IDS in state.source:
            source = state.source[IDS].repeat_interleave(len(ids) // len(state.source[IDS]), 0)
            copy = (CopyDistribution(encoded.alignment[:, -1:], source),)
        log_probs = system.log_probabilities(encoded.states[:, -1:], *copy)[:, -1]
        return log_probs, replace(encoded.state, source=state.source)
