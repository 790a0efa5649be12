"""Residual streams that can be run backwards (Gomez et al. 2017; Kitaev et al. 2020): memory is flat in depth.

Two streams add to each other by turns, y1 = x1 + f(x2), y2 = x2 + g(y1), so that the way back finds x1 and x2 again by
subtracting; no layer's values are kept in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import get_device_states, set_device_states

from firth.nn.attention import Scene
from firth.nn.block import Block, Part

Change = tuple[Part, tuple[Any, ...]]  # what adds to a stream, and what it is given besides the other stream


def run_plain(blocks: Sequence[Block], x: Tensor, scene: Scene) -> Tensor:
    """x (batch, time, width) through all layers -> the same shape."""
    for block in blocks:
        x = block(x, scene)
    return x


def run_reversible(blocks: Sequence[Block], x: Tensor, scene: Scene) -> Tensor:
    """x (batch, time, width) as both streams through all layers -> both side by side (batch, time, 2 × width)."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))  # what is rounded off cannot be found again by subtracting
    changes = _changes(blocks, replace(scene, decided={}))
    weights = [weight for part, _ in changes for weight in _learned(part)]
    if torch.is_grad_enabled() and (x.requires_grad or weights):
        return torch.cat(_Reversible.apply(changes, x, *weights), -1)
    one, other = x, x
    for part, given in changes:
        one, other = other, one + part.change(other, *given)
    return torch.cat([one, other], -1)


RESIDUALS = {"plain": run_plain, "reversible": run_reversible}
STREAMS = {"plain": 1, "reversible": 2}  # that come out side by side


def _changes(blocks: Sequence[Block], scene: Scene) -> list[Change]:
    """What adds to the streams, by turns."""
    return [change for block in blocks for change in ((block.attention, (scene,)), (block.feedforward, ()))]


def _learned(part: Part) -> list[Tensor]:
    return [weight for weight in part.parameters() if weight.requires_grad]


class _Reversible(torch.autograd.Function):
    """All layers as one step of the graph; weights are inputs, so that their gradients take the usual way."""

    @staticmethod
    def forward(ctx: Any, changes: list[Change], x: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        ctx.changes, ctx.again = changes, []
        one, other = x, x
        for part, given in changes:
            ctx.again.append(_repeatable(x))
            with _autocast(x.device.type):
                one, other = other, one + part.change(other, *given)
        ctx.save_for_backward(one, other)
        return one, other

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_one: Tensor, grad_other: Tensor) -> tuple[Tensor | None, ...]:
        one, other = ctx.saved_tensors
        grads: list[Tensor | None] = []
        for (part, given), again in zip(reversed(ctx.changes), reversed(ctx.again), strict=True):
            seen, learned = one.detach().requires_grad_(), _learned(part)
            with torch.enable_grad(), again():
                change = part.change(seen, *given)
            added, *more = torch.autograd.grad(change, (seen, *learned), grad_other.to(change.dtype), allow_unused=True)
            grads = more + grads
            one, other = other - change.detach(), one
            grad_one, grad_other = grad_other, grad_one if added is None else grad_one + added
        return None, grad_one + grad_other, *grads


def _repeatable(x: Tensor) -> Callable[[], AbstractContextManager[None]]:
    """The present randomness and precision, to be entered again later."""
    state, devices = torch.get_rng_state(), get_device_states(x)
    autocast = _autocast(x.device.type)

    @contextmanager
    def again() -> Iterator[None]:
        with torch.random.fork_rng(devices[0]), autocast:
            torch.set_rng_state(state)
            set_device_states(*devices)
            yield

    return again


def _autocast(kind: str) -> torch.autocast:
    """The present precision, without a store of cast weights: those cast here have no gradients."""
    return torch.autocast(
        kind, torch.get_autocast_dtype(kind), enabled=torch.is_autocast_enabled(kind), cache_enabled=False
    )
