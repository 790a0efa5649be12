"""Global attention (Longformer): tokens that attend to all tokens and that all tokens attend to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from firth.errors import FirthError
from firth.types import Batch


def mark_global_tokens(batch: Batch, positions: Sequence[int]) -> Batch:
    """The batch with global attention at these positions of each sequence, from 0; others are refused."""
    if not positions:
        return batch
    text = batch.streams["text"]
    shortest = int(text.mask.sum(1).min())
    for position in positions:
        if not 0 <= position < shortest:
            what = f"global attention at position {position} of a text of {shortest} tokens"
            raise FirthError(what, where="global_tokens", do=f"choose from 0 to {shortest - 1}")
    is_global = torch.zeros_like(text.mask)
    is_global[:, list(positions)] = True
    return replace(batch, streams={**batch.streams, "text": replace(text, global_attention=is_global)})
