"""Tokens of a text that are to see all of it and be seen by all, where a model's tokens see those near them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from firth.errors import FirthError
from firth.types import Batch


def marked(batch: Batch, places: Sequence[int]) -> Batch:
    """The batch with the tokens at these places of each row marked; 0 is the first. Places outside are refused."""
    if not places:
        return batch
    text = batch.streams["text"]
    shortest = int(text.mask.sum(1).min())
    for place in places:
        if not 0 <= place < shortest:
            what = f"token {place} is to see all of a text that has {shortest} tokens"
            raise FirthError(what, where="central", do=f"choose from 0 to {shortest - 1}")
    central = torch.zeros_like(text.mask)
    central[:, list(places)] = True
    return replace(batch, streams={**batch.streams, "text": replace(text, central=central)})
