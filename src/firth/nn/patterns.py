"""Who sees whom. A pattern answers `visible(q, k)` over places and marks; what is fused is told from that."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from firth.types import Tokens


class Marks(NamedTuple):
    """What a pattern may ask of tokens."""

    place: Tensor  # (time,): in the row
    mask: Tensor  # (batch, time): True = real
    document: Tensor | None  # (batch, time): packing


class View(NamedTuple):
    """A pattern as attention takes it: one of the fused kernel's own, or a mask (batch, 1, queries, keys)."""

    causal: bool = False
    mask: Tensor | None = None


def left(q: Marks, k: Marks) -> Tensor:
    """Itself and what stands before it."""
    return (q.place[:, None] >= k.place)[None]


def everything(q: Marks, k: Marks) -> Tensor:
    """All that is no padding."""
    return k.mask[:, None, :]


PATTERNS: dict[str, Callable[[Marks, Marks], Tensor]] = {"left": left, "all": everything}


def view(name: str, tokens: Tokens, past: int) -> View:
    """Who sees whom among these tokens, `past` others of the row having been read before."""
    batch, time = tokens.ids.shape
    if name == "left" and tokens.document is None and (past == 0 or time == 1):
        return View(causal=past == 0 and time > 1)  # padding comes last: no real token sees it
    here = Marks(torch.arange(past, past + time, device=tokens.ids.device), tokens.mask, tokens.document)
    keys = here
    if past:
        before = torch.ones(batch, past, dtype=torch.bool, device=tokens.mask.device)
        keys = Marks(torch.arange(past + time, device=tokens.ids.device), torch.cat([before, tokens.mask], 1), None)
    visible = PATTERNS[name](here, keys)
    if here.document is not None and not past:
        visible = visible & (here.document[:, :, None] == here.document[:, None, :])
    return View(mask=visible[:, None])


def places(tokens: Tokens, past: int) -> Tensor:
    """Where tokens stand (time), or in their documents (batch, time) where several share a row."""
    at = torch.arange(past, past + tokens.ids.shape[1], device=tokens.ids.device)
    if tokens.document is None:
        return at
    begins = torch.ones_like(tokens.document, dtype=torch.bool)
    begins[:, 1:] = tokens.document[:, 1:] != tokens.document[:, :-1]
    return at - torch.where(begins, at, 0).cummax(1).values
