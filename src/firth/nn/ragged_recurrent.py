"""Recurrent layers over sequences of different lengths, in segments of time that each hold only the sequences that are
not over yet.

On CPUs torch has no fast kernel for packed sequences, and their backward pass writes a gradient of the whole batch at
each step. Segments run the kernel for padded sequences on few padded steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

# Nanoseconds of forward and backward pass by oneDNN on one core, for a call and for a step of one sequence: fixed, and
# for each weight. Only their ratio matters.
CALL, CALL_PER_WEIGHT, STEP, STEP_PER_WEIGHT = 180_000, 1.0, 250, 0.033
# x (time, batch, in), the initial state (batch, width) each, direction -> outputs (time, batch, width), new state
RunCell = Callable[[Tensor, list[Tensor], int], tuple[Tensor, ...]]


def run_ragged(
    run: RunCell, x: Tensor, initial: Sequence[Tensor], lengths: Tensor, directions: int, weights: int
) -> Tensor:
    """Outputs (batch, time, directions × width), zeros on padding; x (batch, time, in), initial (directions, batch,
    width) each. The layer has so many weights in each direction."""
    sizes, order = lengths.sort(descending=True, stable=True)
    edges = plan_segments(sizes.numpy(), (CALL + CALL_PER_WEIGHT * weights) / (STEP + STEP_PER_WEIGHT * weights))
    padding = (torch.arange(x.shape[1]) >= lengths[:, None]).unsqueeze(-1)
    x = x.masked_fill(padding, 0.0)
    outputs = []
    for direction in range(directions):
        index = _time_major(sizes, order, x.shape[1], backward=direction == 1)
        rows = _permute(x.flatten(0, 1), index).view(x.shape[1], len(x), -1)
        state = [part[direction].index_select(0, order) for part in initial]
        states = _run_segments(run, direction, rows, state, sizes, edges)
        outputs.append(_permute(states.flatten(0, 1), index.argsort()).view(len(x), x.shape[1], -1))
    return torch.cat(outputs, -1).masked_fill(padding, 0.0)


def plan_segments(sizes: np.ndarray, call_cost: float) -> list[int]:
    """The ends of the segments in time of least cost for sizes (batch,). A segment costs its steps for all rows that
    reach it, and its call."""
    ends = np.unique(sizes[sizes > 0])
    starts = np.concatenate([[0], ends[:-1]])
    rows = (sizes[None, :] > starts[:, None]).sum(1)  # of a segment that begins there
    least, previous = np.zeros(len(ends) + 1), np.zeros(len(ends) + 1, np.int64)
    for last in range(1, len(ends) + 1):
        costs = least[:last] + rows[:last] * (ends[last - 1] - starts[:last]) + call_cost
        previous[last], least[last] = costs.argmin(), costs.min()
    chosen, at = [], len(ends)
    while at:
        chosen.append(int(ends[at - 1]))
        at = int(previous[at])
    return chosen[::-1]


class _Permutation(torch.autograd.Function):
    """Rows in another order; the gradient is put back by the inverse, not by a sum over indices."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _permute(gradient, index.argsort()), None


def _permute(x: Tensor, index: Tensor) -> Tensor:
    permuted: Tensor = _Permutation.apply(x, index)  # type: ignore[no-untyped-call] # of torch
    return permuted


def _time_major(sizes: Tensor, order: Tensor, time: int, backward: bool) -> Tensor:
    """Where in the flattened batch (batch × time) each step of (time × batch) comes from, the longest row first; with
    `backward` the words of each row from its last to its first, its padding still at the end."""
    step = torch.arange(time)[:, None]
    step = torch.where(step < sizes, sizes - 1 - step, step) if backward else step
    return (order * time + step).flatten()


def _run_segments(
    run: RunCell, direction: int, x: Tensor, state: list[Tensor], sizes: Tensor, edges: Sequence[int]
) -> Tensor:
    """Outputs (time, batch, width) of x (time, batch, in), of which each segment runs the rows that are left."""
    starts, outputs = [0, *edges], []
    parts = x.split([end - start for start, end in pairwise([*starts, len(x)])])
    for part, start in zip(parts, starts, strict=True):
        count = int((sizes > start).sum())
        if count:
            out, *state = run(part[:, :count], [each[:count] for each in state], direction)
        else:  # the padding of all rows
            out = x.new_zeros(len(part), 0, state[0].shape[-1])
        outputs.append(F.pad(out, (0, 0, 0, x.shape[1] - count)))
    return torch.cat(outputs)
