"""Choosing the next token: greedily, or by sampling with temperature, top-k and top-p. Sees only a stepper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from firth.config.core import bounded
from firth.decoding.choosing import best, end_stuck, highest
from firth.decoding.rules import Keeper, Rules
from firth.decoding.scoring import real_source
from firth.errors import FirthError
from firth.types import ALIGNMENT, Batch, Stepper


@dataclass(frozen=True)
class Sampling:
    """How to choose from a distribution."""

    temperature: float = bounded(1.0, least=0.0, most=1e6)  # 0: always the most probable token
    top_k: int = bounded(0, least=0)  # only the k most probable; 0: all
    # only the most probable that together reach p (Holtzman et al. 2020)
    top_p: float = bounded(1.0, above=0.0, most=1.0)


@dataclass(frozen=True)
class Generated:
    """One continuation, without its [END]."""

    ids: list[int]
    log_probability: float  # under the model itself, before temperature, cuts and rules; with [END] if it came
    ended: bool
    alignment: np.ndarray | None = field(default=None, compare=False)  # (tokens, source length), if it was looked at


def distribution(log_probabilities: Tensor, how: Sampling) -> Tensor:
    """The probabilities to draw from (rows, size)."""
    if how.temperature == 0.0:
        return torch.nn.functional.one_hot(log_probabilities.argmax(-1), log_probabilities.shape[-1]).double()
    relative = log_probabilities.double() - log_probabilities.max(-1, keepdim=True).values  # no overflow near 0
    if not how.top_k and how.top_p == 1.0:
        return (relative / how.temperature).softmax(-1)
    size = relative.shape[-1]
    scaled, order = highest(relative / how.temperature, min(how.top_k or size, size))
    probabilities = scaled.softmax(-1)
    reached = probabilities.cumsum(-1) - probabilities  # before this token
    probabilities = probabilities.masked_fill(reached >= how.top_p, 0.0)
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return torch.zeros_like(relative).scatter(-1, order, probabilities)


def draw(probabilities: Tensor, random: torch.Generator) -> Tensor:
    """A token for each row (rows, size); never one of probability 0."""
    reached = probabilities.cumsum(-1)
    mark = torch.rand(len(probabilities), 1, generator=random, dtype=reached.dtype) * reached[:, -1:]
    return torch.searchsorted(reached, mark, right=True).squeeze(-1).clamp_(max=probabilities.shape[-1] - 1)


@torch.inference_mode()
def generate(
    stepper: Stepper,
    prompts: Batch,
    length: int,
    how: Sampling,
    seed: int,
    *,
    end: int,
    banned: Sequence[int] = (),
    rules: Rules | None = None,
) -> list[Generated]:
    """Continue every prompt (all of one length) until [END] or `length` tokens. Finished rows are dropped."""
    last, state = prompts.streams["text"].ids[:, -1], stepper.start(prompts)
    keeper = Keeper.of(rules, banned, end, len(last), length, stepper.size)
    drawer = _Drawer(how, end, torch.tensor(banned, dtype=torch.long), keeper, torch.Generator().manual_seed(seed))
    written, rows = _Written(len(last), length, end), torch.arange(len(last))  # the inputs still under way
    for step in range(length):
        log_probabilities, state = stepper.step(last, state)
        last = drawer.next(log_probabilities, written.ids[rows, :step], rows)
        gained = log_probabilities.gather(-1, last[:, None]).squeeze(-1)
        written.add(rows, step, last, gained, state.live.get(ALIGNMENT))
        going = (last != end).nonzero().squeeze(-1)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, last, state = rows[going], last[going], state.pick(going).keep(going)
    return written.told(real_source(prompts))


@dataclass(frozen=True)
class _Drawer:
    """Chooses the next token of each row."""

    how: Sampling
    end: int
    banned: Tensor
    keeper: Keeper | None
    random: torch.Generator  # private: generation in the middle of training must not disturb it

    def next(self, rows: Tensor, ids: Tensor, inputs: Tensor) -> Tensor:
        """Tokens (rows,) after `ids` (rows, so far)."""
        banned = self.banned
        if self.keeper is not None:
            rows, banned = self.keeper.kept(rows, ids, inputs), banned[:0]
            if bool(rows.isneginf().all(-1).any()):
                raise FirthError("no text that goes on from here keeps these rules", do="ask for less, or use a beam")
        if self.how.temperature == 0.0:
            found, tokens = best(rows, 1, banned)
            end_stuck(found, tokens, self.end)
            return tokens.squeeze(-1)
        if len(banned):
            rows = rows.index_fill(1, banned, -torch.inf)
        stuck = rows.isneginf().all(-1)
        if bool(stuck.any()):  # nothing can follow, without smoothing: the text ends
            rows = rows.clone()
            rows[stuck, self.end] = 0.0
        return draw(distribution(rows, self.how), self.random)


class _Written:
    """What was written so far; a row per input."""

    def __init__(self, inputs: int, length: int, end: int) -> None:
        self.end = end
        self.ids = torch.zeros(inputs, length, dtype=torch.long)
        self.sums, self.sizes = torch.zeros(inputs, dtype=torch.float64), torch.zeros(inputs, dtype=torch.long)
        self.ended = torch.zeros(inputs, dtype=torch.bool)
        self.seen: Tensor | None = None  # (inputs, length, source length)

    def add(self, rows: Tensor, step: int, tokens: Tensor, gained: Tensor, seen: Tensor | None) -> None:
        """A step's tokens, their log-probabilities and alignments (rows, source length)."""
        self.ids[rows, step] = tokens
        self.sums[rows] += gained.double().masked_fill(gained.isneginf(), 0.0)  # an end where nothing can follow
        self.ended[rows] = tokens == self.end
        self.sizes[rows] += tokens != self.end
        if seen is not None:
            if self.seen is None:
                self.seen = seen.new_zeros(*self.ids.shape, seen.shape[1])
            self.seen[rows, step] = seen

    def told(self, source: Tensor | None) -> list[Generated]:
        """The texts; alignments without the padding of their sources."""
        sizes, found = self.sizes.tolist(), []
        parts = (self.ids.tolist(), self.sums.tolist(), self.ended.tolist())
        for number, (ids, total, ended) in enumerate(zip(*parts, strict=True)):
            size, seen = sizes[number], None
            if self.seen is not None:
                real = self.seen.shape[2] if source is None else int(source[number].sum())
                seen = self.seen[number, :size, :real].numpy().copy()
            found.append(Generated(ids[:size], total, ended, seen))
        return found
