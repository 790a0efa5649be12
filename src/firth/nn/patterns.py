"""Who sees whom. A pattern answers `visible(q, k)` over places and marks; what is fused is told from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from firth.config.schema import Transformer
from firth.types import Tokens


class Marks(NamedTuple):
    """What a pattern may ask of tokens."""

    place: Tensor  # (time,): in the row
    mask: Tensor  # (batch, time): True = real
    document: Tensor | None = None  # (batch, time): packing
    prefix: Tensor | None = None  # (batch, time): True = all may see it

    def part(self, first: int, last: int) -> Marks:
        """Of a stretch of the row."""
        return Marks(*(None if mark is None else mark[..., first:last] for mark in self))


def left(q: Marks, k: Marks) -> Tensor:
    """Itself and what stands before it."""
    return (q.place[:, None] >= k.place)[None]


def everything(q: Marks, k: Marks) -> Tensor:
    """All that is no padding."""
    return k.mask[:, None, :]


def prefix(q: Marks, k: Marks) -> Tensor:
    """The whole of the first part, and what stands before it."""
    return left(q, k) if k.prefix is None else (left(q, k) | k.prefix[:, None, :]) & k.mask[:, None, :]


PATTERNS: dict[str, Callable[[Marks, Marks], Tensor]] = {"left": left, "all": everything, "prefix": prefix}


@dataclass(frozen=True)
class View:
    """A pattern over the tokens at hand: the queries see some of the keys."""

    sees: str
    queries: Marks
    keys: Marks
    window: int = 0

    def visible(self, q: Marks, k: Marks) -> Tensor:
        """Which of some keys some queries see (batch or 1, queries, keys)."""
        found = PATTERNS[self.sees](q, k)
        if self.window:
            found = found & ((q.place[:, None] - k.place).abs() <= self.window)
        if q.document is not None and k.document is not None:
            found = found & (q.document[:, :, None] == k.document[:, None, :])
        return found

    @cached_property
    def causal(self) -> bool:
        """Whether fused attention has this pattern itself: padding comes last, so no real token sees it."""
        several = self.queries.place.shape == self.keys.place.shape != (1,)
        return several and self._left and not self._hides(self.keys.place.shape[0])

    @cached_property
    def mask(self) -> Tensor | None:
        """For each query and key (batch or 1, 1, queries, keys); None where all is seen."""
        (queries,), (keys,) = self.queries.place.shape, self.keys.place.shape
        if not self._hides(keys) and (self._all if self.sees == "all" else self._left and queries == 1 <= keys):
            return None
        return self.visible(self.queries, self.keys)[:, None]

    @property
    def _left(self) -> bool:
        return self.sees == "left" or (self.sees == "prefix" and self.keys.prefix is None)

    @cached_property
    def _all(self) -> bool:
        return bool(self.keys.mask.all())

    def _hides(self, keys: int) -> bool:
        return 0 < self.window < keys - 1 or self.queries.document is not None


def view(config: Transformer, tokens: Tokens, past: int = 0) -> View:
    """Who sees whom among these tokens, `past` others of the row having been read before."""
    time, device = tokens.ids.shape[1], tokens.ids.device
    here = Marks(torch.arange(past, past + time, device=device), tokens.mask, tokens.document, tokens.prefix)
    keys = here
    if past:
        before = torch.ones(len(tokens.mask), past, dtype=torch.bool, device=device)
        keys = Marks(torch.arange(past + time, device=device), torch.cat([before, tokens.mask], 1))
        here = here._replace(document=None, prefix=None)
    return View(config.sees, here, keys, config.window)


def across(target: Tokens, source: Tensor) -> View:
    """Every token of the target sees the real ones of the source, whose mask is given (batch, time)."""
    marks = Marks(torch.arange(source.shape[1], device=source.device), source)
    return View("all", Marks(torch.arange(target.ids.shape[1], device=source.device), target.mask), marks)


def places(tokens: Tokens, past: int) -> Tensor:
    """Where tokens stand (time), or in their documents (batch, time) where several share a row."""
    at = torch.arange(past, past + tokens.ids.shape[1], device=tokens.ids.device)
    if tokens.document is None:
        return at
    begins = torch.ones_like(tokens.document, dtype=torch.bool)
    begins[:, 1:] = tokens.document[:, 1:] != tokens.document[:, :-1]
    return at - torch.where(begins, at, 0).cummax(1).values
