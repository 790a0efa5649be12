"""Reversible residual layers (Gomez et al. 2017; Kitaev et al. 2020): activation memory does not grow with depth.

Two streams add to each other in turn, y1 = x1 + f(x2), y2 = x2 + g(y1), so that the backward pass recovers x1 and x2 by
subtraction; no layer's activations are stored.
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

from firth.nn.attention.multi_head import AttentionContext
from firth.nn.transformer_block import ResidualBlock, TransformerBlock, run_residual

ResidualCall = tuple[ResidualBlock, tuple[Any, ...]]  # a residual block, and its arguments besides the other stream


def run_reversible(blocks: Sequence[TransformerBlock], x: Tensor, context: AttentionContext) -> Tensor:
    """x (batch, time, width) as both streams through all layers -> both streams (batch, time, 2 × width)."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))  # subtraction cannot recover what was rounded off
    calls = _residual_calls(blocks, replace(context, lsh_buckets={}))
    weights = [weight for block, _ in calls for weight in _trainable(block)]
    if context.kept_layers is None and torch.is_grad_enabled() and (x.requires_grad or weights):
        streams = _Reversible.apply(calls, x, *weights)  # type: ignore[no-untyped-call] # of torch
        return torch.cat(streams, -1)
    one, other = x, x
    for number, (block, arguments) in enumerate(calls):
        one, other = other, one + block.residual(other, *arguments)
        if context.kept_layers is not None and number % 2:  # attention, then the feed-forward network
            context.kept_layers.append(torch.cat([one, other], -1))
    return torch.cat([one, other], -1)


RESIDUAL_STREAMS = {"plain": run_residual, "reversible": run_reversible}
STREAM_COUNTS = {"plain": 1, "reversible": 2}  # concatenated in the output


def _residual_calls(blocks: Sequence[TransformerBlock], context: AttentionContext) -> list[ResidualCall]:
    """The residual blocks of all layers in the order in which they add to the streams."""
    return [call for block in blocks for call in ((block.attention, (context,)), (block.feedforward, ()))]


def _trainable(block: ResidualBlock) -> list[Tensor]:
    return [weight for weight in block.parameters() if weight.requires_grad]


class _Reversible(torch.autograd.Function):
    """All layers as one node of the autograd graph; weights are inputs, so that autograd adds up their gradients."""

    @staticmethod
    def forward(ctx: Any, calls: list[ResidualCall], x: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        ctx.calls, ctx.rng_states = calls, []
        one, other = x, x
        for block, arguments in calls:
            ctx.rng_states.append(_capture_rng(x))
            with _autocast(x.device.type):
                one, other = other, one + block.residual(other, *arguments)
        ctx.save_for_backward(one, other)
        return one, other

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_one: Tensor, grad_other: Tensor) -> tuple[Tensor | None, ...]:
        one, other = ctx.saved_tensors
        grads: list[Tensor | None] = []
        for (block, arguments), restored in zip(reversed(ctx.calls), reversed(ctx.rng_states), strict=True):
            input_, weights = one.detach().requires_grad_(), _trainable(block)
            with torch.enable_grad(), restored():
                residual = block.residual(input_, *arguments)
            input_grad, *weight_grads = torch.autograd.grad(
                residual, (input_, *weights), grad_other.to(residual.dtype), allow_unused=True
            )
            grads = [*weight_grads, *grads]
            one, other = other - residual.detach(), one
            grad_one, grad_other = grad_other, grad_one if input_grad is None else grad_one + input_grad
        return None, grad_one + grad_other, *grads


def _capture_rng(x: Tensor) -> Callable[[], AbstractContextManager[None]]:
    """A context manager that restores the present random state and autocast settings."""
    state, devices = torch.get_rng_state(), get_device_states(x)
    autocast = _autocast(x.device.type)

    @contextmanager
    def restore() -> Iterator[None]:
        with torch.random.fork_rng(devices[0]), autocast:
            torch.set_rng_state(state)
            set_device_states(*devices)
            yield

    return restore


def _autocast(device_type: str) -> torch.autocast:
    """The present autocast settings without the weight cache: weights cast here have no gradients."""
    return torch.autocast(
        device_type,
        torch.get_autocast_dtype(device_type),
        enabled=torch.is_autocast_enabled(device_type),
        cache_enabled=False,
    )
