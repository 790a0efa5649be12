"""Linear-chain conditional random field over the scores of words (Lafferty et al. 2001; Lample et al. 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from firth.generation.structured import forward_backward
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.viterbi import viterbi

UNKNOWN = -1  # in `tags`: any tag may be right; the likelihood sums over all


class LinearChainCRF(nn.Module):
    """A distribution over taggings: softmax of the sum of emissions (batch, time, tags), transition, start and end
    scores. The mask (batch, time) is True on words and False on the padding at the end."""

    def __init__(self, tags: int):
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # from → to
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The log-probability (batch,) of the tags (batch, time); where a tag is UNKNOWN, the sum over all tags."""
        emissions = _at_least_float32(emissions)
        unknown = (tags == UNKNOWN) & mask
        if unknown.any():
            other = torch.ones_like(emissions, dtype=torch.bool).scatter_(-1, tags.clamp(min=0).unsqueeze(-1), False)
            right = self.log_normaliser(emissions.masked_fill(other & ~unknown.unsqueeze(-1), -torch.inf), mask)
        else:
            right = self.score(emissions, tags.masked_fill(~mask, 0), mask)
        return right - self.log_normaliser(emissions, mask)

    def score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The score (batch,) of the tags (batch, time), before normalisation."""
        count, flat = len(self.start), tags.flatten()
        chosen = emissions.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        # one flat list of scores: those of a word's tag after the tag before, then those of a first tag
        scores = torch.cat([self.transitions.flatten(), self.start]).to(chosen.dtype)
        before = torch.cat([torch.full_like(tags[:, :1], count), tags[:, :-1]], 1).flatten()
        chosen = chosen + scores.index_select(0, before * count + flat).view_as(chosen)
        ends = self.end.to(chosen.dtype).index_select(0, flat).view_as(chosen)
        last = mask & ~F.pad(mask[:, 1:], (0, 1))
        return chosen.masked_fill(~mask, 0.0).sum(1) + ends.masked_fill(~last, 0.0).sum(1)

    def log_normaliser(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The logarithm (batch,) of the sum over all taggings; 0 for a sequence of no words."""
        emissions = _at_least_float32(emissions)
        scores = self.transitions, self.start, self.end
        if emissions.device.type != "cpu":
            return log_normaliser(emissions, mask, *scores)
        result: Tensor = _LogNormaliser.apply(emissions, mask, *scores)  # type: ignore[no-untyped-call] # of torch
        return result

    @torch.no_grad()
    def marginals(self, emissions: Tensor, mask: Tensor, constraints: LinearChain | None = None) -> Tensor:
        """The probability of each tag at each word (batch, time, tags), zero on padding; without gradient."""
        arrays = _numpy(emissions), _numpy(mask).sum(1)
        probabilities = forward_backward.marginals(*arrays, self.chain(constraints))
        return torch.from_numpy(probabilities).to(emissions.device, _at_least_float32(emissions[:0]).dtype)

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor, constraints: LinearChain | None = None) -> list[list[int]]:
        """The best tags of each sequence, without padding."""
        best = viterbi(_numpy(emissions), _numpy(mask).sum(1), self.chain(constraints))
        return [tagging.tags for tagging in best]

    @torch.no_grad()
    def chain(self, constraints: LinearChain | None = None) -> LinearChain:
        """The scores as arrays, with constraints (chains of 0 and −inf) added."""
        chain = LinearChain.of(*(_numpy(scores) for scores in (self.transitions, self.start, self.end)))
        return chain if constraints is None else chain + constraints


class _LogNormaliser(torch.autograd.Function):
    """The log-normaliser by a compiled forward pass; its gradient, expected counts, by a compiled backward pass."""

    @staticmethod
    def forward(ctx: Any, emissions: Tensor, mask: Tensor, *scores: Tensor) -> Tensor:
        arrays = _numpy(emissions), _numpy(mask).sum(1)
        chain = LinearChain.of(*(_numpy(each) for each in scores))
        lattice = forward_backward.forward(*arrays, chain)
        ctx.given, ctx.dtypes = (arrays, chain, lattice), [each.dtype for each in (emissions, *scores)]
        return torch.from_numpy(lattice.normalisers).to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        (emissions, lengths), chain, lattice = ctx.given
        counts = forward_backward.gradients(emissions, lengths, chain, lattice, _numpy(weights))
        slope, *slopes = (torch.from_numpy(each).to(dtype) for each, dtype in zip(counts, ctx.dtypes, strict=True))
        return slope, None, *slopes


def log_normaliser(emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The same in plain PyTorch, for other devices than the CPU, and to be compared with."""
    if not emissions.shape[1]:
        return emissions.new_zeros(len(emissions))
    alpha = start + emissions[:, 0]
    for t in range(1, emissions.shape[1]):
        step = (alpha.unsqueeze(-1) + transitions).logsumexp(1) + emissions[:, t]  # (batch, tags)
        alpha = torch.where(mask[:, t, None], step, alpha)
    return (alpha + end).logsumexp(-1).masked_fill(~mask[:, 0], 0.0)


def _at_least_float32(tensor: Tensor) -> Tensor:
    """Sums over many words need the precision."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _numpy(tensor: Tensor) -> Any:
    tensor = tensor.detach()
    return (tensor.double() if tensor.is_floating_point() else tensor).cpu().numpy()
