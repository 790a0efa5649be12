"""Step-wise decoding without a KV cache, for local and LSH attention: the whole sequence is recomputed at each step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.types import Encoded, State, Tokens

INPUT_VECTORS = "vectors"  # embeddings of all tokens so far: name in `State.live`


def empty_state(batch_size: int, width: int, device: torch.device | str) -> State:
    """The state before any token."""
    return State(source={}, live={INPUT_VECTORS: torch.empty(batch_size, 0, width, device=device)})


def recompute(backbone: nn.Module, vectors: Tensor, tokens: Tokens, state: State) -> Encoded:
    """Hidden states of new tokens with embeddings `vectors` (batch, time, input width), after the state's tokens."""
    count = vectors.shape[1]
    whole = torch.cat([state.live[INPUT_VECTORS].to(vectors.dtype), vectors], 1)
    mask = torch.ones(whole.shape[:2], dtype=torch.bool, device=vectors.device)
    mask[:, -count:] = tokens.mask
    encoded = backbone(whole, Tokens(torch.zeros_like(mask, dtype=torch.long), mask))
    return Encoded(encoded.states[:, -count:], tokens.mask, state=State(state.source, {INPUT_VECTORS: whole}))
