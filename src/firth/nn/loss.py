"""The output layer and its loss in one piece, so that only a part of the logits is ever held."""

from __future__ import annotations

import threading
from itertools import pairwise

import torch
from torch import Tensor

from firth.nn.precision import product_type

LOGITS = 2**23  # logits held at a time (32 MB); with fewer rows to a product, products lose speed
BLOCK = 1024  # tokens to a product for the matrix's gradient: on CPUs a quarter faster than all at once
TINY = 1e-30  # a probability below it is near the smallest float32: its logarithm is taken from the logits


class _Kept(threading.local):
    """Room for logits, kept from call to call: memory fresh from the system costs more than its use."""

    def __init__(self):
        self.rooms: dict[tuple[torch.device, torch.dtype], Tensor] = {}


_kept = _Kept()


def linear_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, values: Tensor, weights: Tensor
) -> Tensor:
    """The sum of `weights` (n) × -log softmax(states weightᵀ + bias) at `values` (n); states (n, width)."""
    rows = weights.nonzero().squeeze(-1)
    if len(rows) < len(weights):  # rows of weight 0 cost nothing, whatever they hold
        states, values, weights = (tensor.index_select(0, rows) for tensor in (states, values, weights))
    low = product_type(weight)
    with torch.autocast(states.device.type, enabled=False):
        return _LinearCrossEntropy.apply(states, weight, bias, values, weights, low, torch.is_grad_enabled())


@torch.no_grad()
def linear_surprise(states: Tensor, weight: Tensor, bias: Tensor | None, values: Tensor) -> Tensor:
    """-log softmax(states weightᵀ + bias) at `values` (n), for each by itself; states (n, width)."""
    low = product_type(weight)
    with torch.autocast(states.device.type, enabled=False):
        sweep = _Sweep(states, weight, bias, low, [False] * 3)
        found = [sweep.surprises(slice(*chunk), values[slice(*chunk)]) for chunk in _chunks(len(states), len(weight))]
        return torch.cat(found) if found else states.new_zeros(0)


class _LinearCrossEntropy(torch.autograd.Function):
    """Makes the gradients beside the loss, while the logits are there; the backward pass only scales them."""

    @staticmethod
    def forward(ctx, states, weight, bias, values, weights, low, learn):
        wanted = [learn and need for need in ctx.needs_input_grad[:3]]
        ctx.dtypes = [None if tensor is None else tensor.dtype for tensor in (states, weight, bias)]
        sweep = _Sweep(states, weight, bias, low, wanted)
        for start, stop in _chunks(len(states), len(weight)):
            sweep.add(slice(start, stop), values[start:stop], weights[start:stop])
        ctx.gradients = sweep.gradients
        return sweep.loss

    @staticmethod
    def backward(ctx, scale):
        if ctx.gradients is None:
            raise RuntimeError("linear_cross_entropy gives its gradients once: run the forward pass again")
        # No reference is kept, so that autograd may use the gradients' memory as its own.
        gradients, ctx.gradients = ctx.gradients, None
        scaled = (g if g is None else g.mul_(scale).to(d) for g, d in zip(gradients, ctx.dtypes, strict=True))
        return *scaled, None, None, None, None


class _Sweep:
    """Goes over the rows chunk by chunk and adds up the loss and the gradients that are wanted."""

    def __init__(self, states: Tensor, weight: Tensor, bias: Tensor | None, low: torch.dtype, wanted: list[bool]):
        self.low, self.high = low, torch.promote_types(low, torch.float32)  # of products; of sums and softmax
        self.states, self.weight = states.to(low), weight.to(low)
        self.bias = None if bias is None else bias.to(self.high)
        self.loss = states.new_zeros((), dtype=self.high)
        # The first chunk overwrites the gradients, so they start as zeros only if there is none.
        fill = torch.empty_like if len(states) else torch.zeros_like
        inputs = zip((states, weight, bias), wanted, strict=True)
        self.gradients = [fill(tensor, dtype=self.high) if want else None for tensor, want in inputs]

    def add(self, rows: slice, values: Tensor, weights: Tensor) -> None:
        """Add the loss of these rows, and their gradients."""
        states, values, weights = self.states[rows], values.unsqueeze(-1), weights.to(self.high)
        logits = self.logits(states)
        chances = torch.softmax(logits, -1, out=logits)
        chance = chances.gather(-1, values)
        self.loss += torch.dot(self.surprise(states, values, chance), weights)
        if any(gradient is not None for gradient in self.gradients):
            # The loss by the logits, but for the rows' weights: those scale the narrow factors instead.
            self.learn(rows, chances.scatter_(-1, values, chance - 1), weights)

    def surprises(self, rows: slice, values: Tensor) -> Tensor:
        """Negative log-probabilities of these rows, nothing else."""
        logits = self.logits(self.states[rows])
        chance = torch.softmax(logits, -1, out=logits).gather(-1, values.unsqueeze(-1))
        return self.surprise(self.states[rows], values.unsqueeze(-1), chance)

    def logits(self, states: Tensor) -> Tensor:
        """Every token's logit (rows, vocabulary), in memory that the next call takes back."""
        logits = torch.mm(states, self.weight.t(), out=self.memory(len(states), self.low))
        logits = self.cast(logits, self.high)
        return logits if self.bias is None else logits.add_(self.bias)

    def surprise(self, states: Tensor, values: Tensor, chance: Tensor) -> Tensor:
        """Negative log-probabilities (rows), exact also where a probability is too small for its type."""
        chance = chance.squeeze(-1)
        surprise = -chance.log()
        far = (chance < TINY).nonzero().squeeze(-1)
        if len(far):
            logits = torch.mm(states[far], self.weight.t()).to(self.high)
            logits = logits if self.bias is None else logits + self.bias
            surprise[far] = logits.logsumexp(-1) - logits.gather(-1, values[far]).squeeze(-1)
        return surprise

    def learn(self, rows: slice, slope: Tensor, weights: Tensor) -> None:
        """Add the gradients that flow from the slope at the logits (rows, vocabulary)."""
        by_states, by_weight, by_bias = self.gradients
        low, beta = self.cast(slope, self.low), float(rows.start > 0)
        if by_bias is not None:
            torch.addmv(by_bias, slope.t(), weights, beta=beta, out=by_bias)
        if by_states is not None:
            torch.mul(torch.mm(low, self.weight), weights.unsqueeze(-1), out=by_states[rows])
        if by_weight is not None:
            states = (self.states[rows] * weights.unsqueeze(-1)).to(self.low)
            for start in range(0, len(by_weight), BLOCK):
                block = slice(start, start + BLOCK)
                _add_product(by_weight[block], low[:, block].t(), states, beta)

    def cast(self, chunk: Tensor, dtype: torch.dtype) -> Tensor:
        """The same numbers (rows, vocabulary) in another type, in its own memory."""
        return chunk if chunk.dtype == dtype else self.memory(len(chunk), dtype).copy_(chunk)

    def memory(self, rows: int, dtype: torch.dtype) -> Tensor:
        """Room for a chunk of logits (rows, vocabulary); what it held before is lost."""
        rooms, key, size = _kept.rooms, (self.weight.device, dtype), rows * len(self.weight)
        if key not in rooms or len(rooms[key]) < size:
            rooms[key] = torch.empty(size, dtype=dtype, device=self.weight.device)
        return rooms[key][:size].view(rows, -1)


def _add_product(total: Tensor, left: Tensor, right: Tensor, beta: float) -> None:
    """total = beta × total + left right, in the precision of the total; beta 0 takes an unfilled one."""
    if total.dtype == left.dtype:
        torch.addmm(total, left, right, beta=beta, out=total)
    elif beta:
        total.add_(torch.mm(left, right))
    else:
        total.copy_(torch.mm(left, right))


def _chunks(rows: int, vocabulary: int) -> list[tuple[int, int]]:
    """Cut the rows into the fewest, even chunks whose logits fit."""
    count = -(-rows * vocabulary // LOGITS)
    edges = [rows * i // max(count, 1) for i in range(count + 1)]
    return [(start, stop) for start, stop in pairwise(edges) if start < stop]
