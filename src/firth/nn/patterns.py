"""Who sees whom. A pattern answers `visible(q, k)` over places and marks; what is fused is told from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.types import Tokens


class Marks(NamedTuple):
    """What a pattern may ask of tokens."""

    place: Tensor  # (time,): in the row; or (batch, time)
    mask: Tensor  # (batch, time): True = real
    document: Tensor | None = None  # (batch, time): packing
    prefix: Tensor | None = None  # (batch, time): True = all may see it
    central: Tensor | None = None  # (batch, time): True = sees all and is seen by all, near or far
    rank: Tensor | None = None  # (batch, time): in the order in which they see each other

    def part(self, first: int, last: int) -> Marks:
        """Of a stretch of the row."""
        return Marks(*(None if mark is None else mark[..., first:last] for mark in self))


def apart(q: Marks, k: Marks) -> Tensor:
    """How far before the query the key stands (batch or 1, queries, keys)."""
    found = q.place[..., :, None] - k.place[..., None, :]
    return found if found.dim() == 3 else found[None]


def left(q: Marks, k: Marks) -> Tensor:
    """Itself and what stands before it."""
    return apart(q, k) >= 0


def everything(q: Marks, k: Marks) -> Tensor:
    """All that is no padding."""
    return k.mask[:, None, :]


def prefix(q: Marks, k: Marks) -> Tensor:
    """The whole of the first part, and what stands before it."""
    return left(q, k) if k.prefix is None else (left(q, k) | k.prefix[:, None, :]) & k.mask[:, None, :]


def permuted(q: Marks, k: Marks) -> Tensor:
    """What comes no later in an order of the row's own; all where there is none (Yang et al. 2019)."""
    if k.rank is None:
        return everything(q, k)
    return (q.rank[:, :, None] >= k.rank[:, None, :]) & k.mask[:, None, :]


PATTERNS: dict[str, Callable[[Marks, Marks], Tensor]] = {
    "left": left,
    "all": everything,
    "prefix": prefix,
    "permuted": permuted,
}


@dataclass(frozen=True)
class View:
    """A pattern over the tokens at hand: the queries see some of the keys."""

    sees: str
    queries: Marks
    keys: Marks
    window: int = 0
    steps: tuple[int, ...] = ()  # of each head between the tokens that its window sees; none: 1 in all heads
    kept: dict[Any, Any] = field(init=False, default_factory=dict, compare=False)  # worked out once for all layers

    def visible(self, q: Marks, k: Marks, step: int = 1) -> Tensor:
        """Which of some keys some queries see (batch or 1, queries, keys)."""
        found = PATTERNS[self.sees](q, k)
        if self.window:
            found = found & self._near(q, k, step)
        if q.document is not None and k.document is not None:
            found = found & (q.document[:, :, None] == k.document[:, None, :])
        return found

    def with_steps(self, steps: tuple[int, ...]) -> View:
        """The same for heads whose windows step over tokens; one for all layers that ask for it."""
        if steps == self.steps:
            return self
        if steps not in self.kept:
            self.kept[steps] = replace(self, steps=steps)
        return self.kept[steps]

    def _near(self, q: Marks, k: Marks, step: int) -> Tensor:
        distance = apart(q, k)
        found = distance.abs() <= self.window * step
        found = found if step == 1 else found & (distance % step == 0)
        if q.central is None or k.central is None:
            return found
        return found | q.central[:, :, None] | k.central[:, None, :]

    @cached_property
    def seen(self) -> Tensor:
        """Which keys each query sees in each head (batch or 1, heads or 1, queries, keys)."""
        if not self.steps:
            return self.visible(self.queries, self.keys)[:, None]
        found = {step: self.visible(self.queries, self.keys, step) for step in set(self.steps)}
        return torch.stack([found[step] for step in self.steps], 1)

    @cached_property
    def causal(self) -> bool:
        """Whether fused attention has this pattern itself: padding comes last, so no real token sees it."""
        several = self.queries.place.shape == self.keys.place.shape != (1,)
        return several and self._left and not self._hides(self.keys.place.shape[0])

    @cached_property
    def mask(self) -> Tensor | None:
        """For each query and key (batch or 1, heads or 1, queries, keys); None where all is seen."""
        queries, keys = self.queries.place.shape[-1], self.keys.place.shape[-1]
        if not self._hides(keys) and (self._all if self.sees == "all" else self._left and queries == 1 <= keys):
            return None
        return self.seen

    @property
    def _left(self) -> bool:
        return self.sees == "left" or (self.sees == "prefix" and self.keys.prefix is None)

    @cached_property
    def _all(self) -> bool:
        return bool(self.keys.mask.all())

    def _hides(self, keys: int) -> bool:
        narrow = self.window and (self.window < keys - 1 or self.steps)
        return bool(narrow) or self.queries.document is not None


def view(config: Transformer, tokens: Tokens, past: int = 0) -> View:
    """Who sees whom among these tokens, `past` others of the row having been read before."""
    time, device = tokens.ids.shape[1], tokens.ids.device
    central = central_tokens(config, tokens, past)
    here = Marks(torch.arange(past, past + time, device=device), tokens.mask, tokens.document, tokens.prefix, central)
    here = here._replace(rank=tokens.rank)
    keys = here
    if past:
        before = torch.ones(len(tokens.mask), past, dtype=torch.bool, device=device)
        place = torch.arange(past + time, device=device)
        keys = Marks(place, torch.cat([before, tokens.mask], 1))
        if central is not None:
            keys = keys._replace(central=(place == 0).expand(len(tokens.mask), -1))
        if tokens.rank is not None:  # what was read before comes first
            keys = keys._replace(rank=F.pad(tokens.rank, (past, 0), value=-1))
        here = here._replace(document=None, prefix=None)
    return View(config.sees, here, keys, config.window)


def central_tokens(config: Transformer, tokens: Tokens, past: int = 0) -> Tensor | None:
    """Which tokens see all and are seen by all (batch, time): those that are marked, and the first if it is one."""
    if config.central == "none":
        return tokens.central
    first = (places(tokens, past) == 0) & tokens.mask  # [CLS] or [START]
    return first if tokens.central is None else first | tokens.central


def head_steps(config: Transformer, layer: int) -> tuple[int, ...]:
    """Of each head between the tokens that its window sees; none where it is 1 in all of them."""
    step = config.dilation[min(layer, len(config.dilation) - 1)] if config.dilation else 1
    dilated = config.dilated_heads or config.heads
    return () if step == 1 else (step,) * dilated + (1,) * (config.heads - dilated)


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
