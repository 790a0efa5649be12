"""Stepping where keys cannot be kept, since what a token sees depends on all tokens: the text is read anew."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.types import Encoded, State, Tokens

READ = "vectors"  # of what was read, in the state


def unread(rows: int, width: int, device: torch.device | str) -> State:
    """The state before any token."""
    return State(source={}, live={READ: torch.empty(rows, 0, width, device=device)})


def reread(backbone: nn.Module, vectors: Tensor, tokens: Tokens, state: State) -> Encoded:
    """All that was read so far and the new tokens' vectors (batch, time, input width) -> states of the new ones."""
    new = vectors.shape[1]
    whole = torch.cat([state.live[READ].to(vectors.dtype), vectors], 1)
    mask = torch.ones(whole.shape[:2], dtype=torch.bool, device=vectors.device)
    mask[:, -new:] = tokens.mask
    found = backbone(whole, Tokens(torch.zeros_like(mask, dtype=torch.long), mask))
    return Encoded(found.states[:, -new:], tokens.mask, state=State(state.source, {READ: whole}))
