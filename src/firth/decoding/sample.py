"""Choosing the next token: greedily, or by sampling with temperature, top-k and top-p. Sees only a stepper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from firth.config.core import bounded
from firth.types import Batch, Stepper


@dataclass(frozen=True)
class Sampling:
    """How to choose from a distribution."""

    temperature: float = bounded(1.0, least=0.0, most=1e6)  # 0: always the most probable token
    top_k: int = bounded(0, least=0)  # only the k most probable; 0: all
    top_p: float = bounded(
        1.0, above=0.0, most=1.0
    )  # only the most probable that together reach p (Holtzman et al. 2020)


@dataclass(frozen=True)
class Generated:
    """One continuation, without its [END]."""

    ids: list[int]
    log_probability: float  # under the model itself, before temperature and cuts; with [END] if it came
    ended: bool


def distribution(log_probabilities: Tensor, how: Sampling) -> Tensor:
    """The probabilities to draw from (rows, size)."""
    if how.temperature == 0.0:
        return torch.nn.functional.one_hot(log_probabilities.argmax(-1), log_probabilities.shape[-1]).double()
    relative = log_probabilities.double() - log_probabilities.max(-1, keepdim=True).values  # no overflow near 0
    if not how.top_k and how.top_p == 1.0:
        return (relative / how.temperature).softmax(-1)
    scaled, order = torch.sort(relative / how.temperature, descending=True, stable=True)
    probabilities = scaled.softmax(-1)
    if how.top_k:
        probabilities[:, how.top_k :] = 0.0
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    reached = probabilities.cumsum(-1) - probabilities  # before this token
    probabilities = probabilities.masked_fill(reached >= how.top_p, 0.0)
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, order, probabilities)


def draw(probabilities: Tensor, random: torch.Generator) -> Tensor:
    """A token for each row (rows, size); never one of probability 0."""
    reached = probabilities.cumsum(-1)
    mark = torch.rand(len(probabilities), 1, generator=random, dtype=reached.dtype) * reached[:, -1:]
    return torch.searchsorted(reached, mark, right=True).squeeze(-1).clamp_(max=probabilities.shape[-1] - 1)


@torch.inference_mode()
def generate(
    stepper: Stepper, prompts: Batch, length: int, how: Sampling, seed: int, *, end: int, banned: Sequence[int] = ()
) -> list[Generated]:
    """Continue every prompt (all of one length) until [END] or `length` tokens. Finished rows are dropped."""
    random = torch.Generator().manual_seed(seed)  # private: generation in the middle of training must not disturb it
    last, state = prompts.streams["text"].ids[:, -1], stepper.start(prompts)
    rows = torch.arange(len(last))  # the inputs still under way
    found, sums, ended = [[] for _ in rows], [0.0] * len(rows), [False] * len(rows)
    for _ in range(length):
        log_probabilities, state = stepper.step(last, state)
        allowed = log_probabilities.clone()
        allowed[:, list(banned)] = -torch.inf
        allowed[allowed.isneginf().all(-1), end] = 0.0  # nothing can follow, without smoothing: the text ends
        last = draw(distribution(allowed, how), random)
        gained = log_probabilities.gather(-1, last[:, None]).squeeze(-1)
        for row, token, gain in zip(rows.tolist(), last.tolist(), gained.tolist(), strict=True):
            sums[row] += gain
            ended[row] = token == end
            if token != end:
                found[row].append(token)
        going = (last != end).nonzero().squeeze(-1)
        if len(going) == 0:
            break
        rows, last, state = rows[going], last[going], state.pick(going).keep(going)
    return [Generated(*parts) for parts in zip(found, sums, ended, strict=True)]
