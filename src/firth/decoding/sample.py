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

SOME = 256  # tokens that usually reach top-p
COLDEST = 1e-30  # temperature: one that float32 can hold


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
    shares, tokens = shared(log_probabilities, how)
    if tokens is None:
        return shares
    return torch.zeros(log_probabilities.shape, dtype=shares.dtype).scatter(-1, tokens, shares)


def shared(log_probabilities: Tensor, how: Sampling) -> tuple[Tensor, Tensor | None]:
    """Probabilities (rows, kept) of the tokens that cuts leave, best first, and these tokens; all in order: None."""
    scores = log_probabilities
    if how.temperature != 1.0:  # of differences from the best, which stays 0 however small the temperature is
        scores = (scores - scores.max(-1, keepdim=True).values) / max(how.temperature, COLDEST)
    if not how.top_k and how.top_p == 1.0:
        return scores.softmax(-1), None
    if how.top_k:
        best, tokens = highest(scores, how.top_k)
        shares = best.double().softmax(-1)
    else:
        shares, tokens = _reaching(scores.softmax(-1), how.top_p)
    reached = shares.cumsum(-1) - shares  # before this token
    shares = shares.masked_fill(reached >= how.top_p, 0.0)
    return shares / shares.sum(-1, keepdim=True), tokens


def _reaching(shares: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """The greatest shares of each row, enough to reach `least` together, and their tokens (rows, some).

    A few are tried first: to sort a whole vocabulary can take longer than the network does."""
    count, size = SOME, shares.shape[-1]
    while True:
        found, tokens = highest(shares, count)
        if count >= size or bool((found.sum(-1) >= least).all()):
            return found.double(), tokens
        count *= 16


def draw(shares: Tensor, random: torch.Generator) -> Tensor:
    """A place in each row (rows, size), by its share; never one whose share is 0."""
    reached = shares.cumsum(-1, dtype=torch.float64)
    mark = torch.rand(len(shares), 1, generator=random, dtype=reached.dtype) * reached[:, -1:]
    return torch.searchsorted(reached, mark, right=True).squeeze(-1).clamp_(max=shares.shape[-1] - 1)


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
        stuck = rows.amax(-1).isneginf()
        if bool(stuck.any()):  # nothing can follow, without smoothing: the text ends
            rows = rows.clone()
            rows[stuck, self.end] = 0.0
        shares, tokens = shared(rows, self.how)
        places = draw(shares, self.random)
        return places if tokens is None else tokens.gather(-1, places[:, None]).squeeze(-1)


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
