"""Fused output projection and cross-entropy: logits are computed in chunks and never held all at once."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from firth.nn.linear import compute_dtype

MAX_LOGITS = 2**23  # logits held at a time (32 MB); smaller chunks make the matrix products slower
BLOCK_SIZE = 1024  # vocabulary entries per product of the weight's gradient: on CPUs a quarter faster than all at once
MIN_PROBABILITY = 1e-30  # below it, near the smallest float32, log-probabilities come from the logits


class _LogitBuffers(threading.local):
    """Buffers for logits, reused from call to call: fresh memory from the system costs more than the computation."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[torch.device, torch.dtype], Tensor] = {}


_logit_buffers = _LogitBuffers()


def linear_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor
) -> Tensor:
    """The sum of `weights` (n) × -log softmax(states weightᵀ + bias) at `targets` (n); states (n, width)."""
    predicted = weights.nonzero().squeeze(-1)
    if len(predicted) < len(weights):  # targets of weight 0 cost nothing
        states, targets, weights = (tensor.index_select(0, predicted) for tensor in (states, targets, weights))
    dtype = compute_dtype(weight)
    with torch.autocast(states.device.type, enabled=False):
        loss: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call] # of torch
            states, weight, bias, targets, weights, dtype, torch.is_grad_enabled()
        )
        return loss


@torch.no_grad()
def linear_nll(states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """The negative log-likelihood -log softmax(states weightᵀ + bias) of each of `targets` (n); states (n, width)."""
    dtype = compute_dtype(weight)
    with torch.autocast(states.device.type, enabled=False):
        chunked = _ChunkedCrossEntropy(states, weight, bias, dtype, [False] * 3)
        nll = [chunked.chunk_nll(slice(*chunk), targets[slice(*chunk)]) for chunk in _chunks(len(states), len(weight))]
        return torch.cat(nll) if nll else states.new_zeros(0)


class _LinearCrossEntropy(torch.autograd.Function):
    """Computes the gradients together with the loss, while the logits exist; the backward pass only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        weights: Tensor,
        dtype: torch.dtype,
        grad_enabled: bool,
    ) -> Tensor:
        requires_grad = [grad_enabled and need for need in ctx.needs_input_grad[:3]]
        ctx.dtypes = [None if tensor is None else tensor.dtype for tensor in (states, weight, bias)]
        chunked = _ChunkedCrossEntropy(states, weight, bias, dtype, requires_grad)
        for start, stop in _chunks(len(states), len(weight)):
            chunked.add(slice(start, stop), targets[start:stop], weights[start:stop])
        ctx.gradients = chunked.gradients
        return chunked.loss

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("linear_cross_entropy can be differentiated once: run the forward pass again")
        # Drop the reference, so that autograd may take over the gradients' memory.
        gradients, ctx.gradients = ctx.gradients, None
        scaled = (g if g is None else g.mul_(scale).to(d) for g, d in zip(gradients, ctx.dtypes, strict=True))
        return *scaled, None, None, None, None


class _ChunkedCrossEntropy:
    """Accumulates the loss and the required gradients over chunks of tokens."""

    def __init__(
        self, states: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype, requires_grad: list[bool]
    ):
        self.matmul_dtype, self.sum_dtype = dtype, torch.promote_types(dtype, torch.float32)
        self.states, self.weight = states.to(dtype), weight.to(dtype)
        self.bias = None if bias is None else bias.to(self.sum_dtype)
        self.loss = states.new_zeros((), dtype=self.sum_dtype)
        # The first chunk overwrites the gradients, so they need to be zeros only if there is no chunk.
        fill = torch.empty_like if len(states) else torch.zeros_like
        inputs = zip((states, weight, bias), requires_grad, strict=True)
        self.gradients = [
            fill(tensor, dtype=self.sum_dtype) if want and tensor is not None else None for tensor, want in inputs
        ]

    def add(self, rows: slice, targets: Tensor, weights: Tensor) -> None:
        """Add the loss of these tokens, and its gradients."""
        states, targets, weights = self.states[rows], targets.unsqueeze(-1), weights.to(self.sum_dtype)
        logits = self.logits(states)
        probabilities = torch.softmax(logits, -1, out=logits)
        target_probabilities = probabilities.gather(-1, targets)
        self.loss += torch.dot(self.nll(states, targets, target_probabilities), weights)
        if any(gradient is not None for gradient in self.gradients):
            # Gradient of the unweighted loss by the logits; the weights scale the narrower factors instead.
            self.add_gradients(rows, probabilities.scatter_(-1, targets, target_probabilities - 1), weights)

    def chunk_nll(self, rows: slice, targets: Tensor) -> Tensor:
        """The negative log-likelihood of each of these tokens."""
        logits = self.logits(self.states[rows])
        probabilities = torch.softmax(logits, -1, out=logits).gather(-1, targets.unsqueeze(-1))
        return self.nll(self.states[rows], targets.unsqueeze(-1), probabilities)

    def logits(self, states: Tensor) -> Tensor:
        """Logits (tokens, vocabulary), in a buffer that the next call overwrites."""
        logits = torch.mm(states, self.weight.t(), out=self.buffer(len(states), self.matmul_dtype))
        logits = self.cast(logits, self.sum_dtype)
        return logits if self.bias is None else logits.add_(self.bias)

    def nll(self, states: Tensor, targets: Tensor, probabilities: Tensor) -> Tensor:
        """Negative log-likelihood (tokens), accurate also where a probability underflows."""
        probabilities = probabilities.squeeze(-1)
        nll = -probabilities.log()
        tiny = (probabilities < MIN_PROBABILITY).nonzero().squeeze(-1)
        if len(tiny):
            logits = torch.mm(states[tiny], self.weight.t()).to(self.sum_dtype)
            logits = logits if self.bias is None else logits + self.bias
            nll[tiny] = logits.logsumexp(-1) - logits.gather(-1, targets[tiny]).squeeze(-1)
        return nll

    def add_gradients(self, rows: slice, logit_gradients: Tensor, weights: Tensor) -> None:
        """Add the gradients that follow from those of the logits (tokens, vocabulary)."""
        states_gradient, weight_gradient, bias_gradient = self.gradients
        cast_gradients, beta = self.cast(logit_gradients, self.matmul_dtype), float(rows.start > 0)
        if bias_gradient is not None:
            torch.addmv(bias_gradient, logit_gradients.t(), weights, beta=beta, out=bias_gradient)
        if states_gradient is not None:
            torch.mul(torch.mm(cast_gradients, self.weight), weights.unsqueeze(-1), out=states_gradient[rows])
        if weight_gradient is not None:
            states = (self.states[rows] * weights.unsqueeze(-1)).to(self.matmul_dtype)
            for start in range(0, len(weight_gradient), BLOCK_SIZE):
                block = slice(start, start + BLOCK_SIZE)
                _add_product(weight_gradient[block], cast_gradients[:, block].t(), states, beta)

    def cast(self, chunk: Tensor, dtype: torch.dtype) -> Tensor:
        """The same values (tokens, vocabulary) in another dtype, in that dtype's buffer."""
        return chunk if chunk.dtype == dtype else self.buffer(len(chunk), dtype).copy_(chunk)

    def buffer(self, rows: int, dtype: torch.dtype) -> Tensor:
        """A buffer for a chunk of logits (tokens, vocabulary); its previous content is lost."""
        buffers, key, size = _logit_buffers.buffers, (self.weight.device, dtype), rows * len(self.weight)
        if key not in buffers or len(buffers[key]) < size:
            buffers[key] = torch.empty(size, dtype=dtype, device=self.weight.device)
        return buffers[key][:size].view(rows, -1)


def _add_product(total: Tensor, left: Tensor, right: Tensor, beta: float) -> None:
    """total = beta × total + left right, in the precision of the total; with beta 0 the total may be uninitialised."""
    if total.dtype == left.dtype:
        torch.addmm(total, left, right, beta=beta, out=total)
    elif beta:
        total.add_(torch.mm(left, right))
    else:
        total.copy_(torch.mm(left, right))


def _chunks(tokens: int, vocabulary: int) -> list[tuple[int, int]]:
    """Split the tokens into the fewest even chunks whose logits fit."""
    count = -(-tokens * vocabulary // MAX_LOGITS)
    edges = [tokens * i // max(count, 1) for i in range(count + 1)]
    return [(start, stop) for start, stop in pairwise(edges) if start < stop]
