"""Search that misses nothing: every text of a small vocabulary, and the best text of any by branch and bound.

What beam search is measured by. Scores and rules are those of beam search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from firth.decoding.beam import search
from firth.decoding.rules import Keeper, Rules
from firth.decoding.scoring import Beam, Hypothesis, Scale, real_source
from firth.errors import FirthError
from firth.types import ALIGNMENT, Batch, State, Stepper

_MOST = 2_000_000  # numbers that one step may look at
_STEPS = 100_000  # of the model, in a search by branch and bound


@torch.inference_mode()
def exhaustive(
    stepper: Stepper,
    prompts: Batch,
    length: int,
    how: Beam | None = None,
    *,
    end: int,
    banned: Sequence[int] = (),
    rules: Rules | None = None,
) -> list[list[Hypothesis]]:
    """All texts of each input that have ended within `length` tokens or have so many, best first."""
    spaces = _spaces(stepper, prompts, length, how or Beam(), end, banned, rules)
    return [sorted(space.everything(), key=lambda each: -each.score) for space in spaces]


@torch.inference_mode()
def most_probable(
    stepper: Stepper,
    prompts: Batch,
    length: int,
    how: Beam | None = None,
    *,
    end: int,
    banned: Sequence[int] = (),
    rules: Rules | None = None,
    steps: int = _STEPS,
) -> list[Hypothesis]:
    """The best text of each input, surely: depth first, leaving what cannot beat the best so far, at first that of a
    beam (Stahlberg and Byrne 2019). Refused where it would take more than `steps` of the model."""
    how = replace(how or Beam(), count=1)
    spaces = _spaces(stepper, prompts, length, how, end, banned, rules)
    begun = search(stepper, prompts, length, how, end=end, banned=banned, rules=rules)
    return [space.best(first[0], steps) for space, first in zip(spaces, begun, strict=True)]


def _spaces(
    stepper: Stepper, prompts: Batch, length: int, how: Beam, end: int, banned: Sequence[int], rules: Rules | None
) -> Iterator[_Space]:
    """Each input's own."""
    inputs = prompts.size
    for number in range(inputs):
        own = rules
        if rules is not None and len(rules.begun) > 1:
            own = replace(rules, begun=rules.begun[number : number + 1])
        one, keeper = prompts.rows(number, number + 1), Keeper(own or Rules(), banned, end, 1, length, stepper.size)
        yield _Space(stepper, one, length, end, keeper, Scale(how, length, real_source(one)))


@dataclass(frozen=True)
class _Open:
    """Hypotheses that are open, a row each."""

    sums: Tensor  # (rows,) what is chosen by
    own: Tensor  # (rows,)
    ids: Tensor  # (rows, tokens)
    last: Tensor  # (rows,)
    state: State
    aligned: Tensor | None = None  # (rows, tokens, source length)


@dataclass(frozen=True)
class _Space:
    """All that can be written for one input."""

    stepper: Stepper
    prompt: Batch
    length: int
    end: int
    keeper: Keeper
    scale: Scale

    def begin(self) -> _Open:
        none = torch.zeros(1, dtype=torch.float64)
        ids, state = torch.zeros(1, 0, dtype=torch.long), self.stepper.start(self.prompt)
        return _Open(none, none, ids, self.prompt.streams["text"].ids[:, -1], state)

    def everything(self) -> list[Hypothesis]:
        """All texts, breadth first."""
        found, open_ = [], self.begin()
        for _ in range(self.length):
            if len(open_.ids) * self.stepper.size > _MOST:
                raise FirthError("too many texts to try all of them", do="use a beam, or fewer tokens")
            totals, gains, open_ = self.step(open_)
            row, token = (totals > -torch.inf).nonzero(as_tuple=True)
            ends = token == self.end
            found += self.told(open_, row[ends], totals[row, token][ends], gains[row, token][ends], True)
            open_ = self.follow(open_, row[~ends], token[~ends], totals, gains)
        every = torch.arange(len(open_.ids))
        return found + self.told(open_, every, open_.sums, open_.own, False)

    def best(self, first: Hypothesis, steps: int) -> Hypothesis:
        """The best text, given a good one to begin with."""
        best, waiting, taken = first, [self.begin()], 0
        while waiting:
            open_ = waiting.pop()
            if float(self.scale.hopes(open_.sums)) <= best.score:
                continue
            if open_.ids.shape[1] == self.length:
                whole = self.told(open_, torch.zeros(1, dtype=torch.long), open_.sums, open_.own, False)
                best = max([best, *whole], key=_score)
                continue
            taken += 1
            if taken > steps:
                raise FirthError(f"not settled after {steps:,} steps of the model", do="allow more, or use a beam")
            totals, gains, open_ = self.step(open_)
            token = (self.scale.hopes(totals[0]) > best.score).nonzero().squeeze(-1)
            token = token[totals[0, token].sort(stable=True).indices]  # the best is taken up first
            ends, zero = token == self.end, torch.zeros_like(token)
            ended = self.told(open_, zero[ends], totals[0, token][ends], gains[0, token][ends], True)
            best = max([best, *ended], key=_score)
            waiting += [self.follow(open_, zero[:1], one[None], totals, gains) for one in token[~ends]]
        return best

    def step(self, open_: _Open) -> tuple[Tensor, Tensor, _Open]:
        """Sums of all that can come next, those under the model itself (rows, size), and what they follow on."""
        rows, state = self.stepper.step(open_.last, open_.state)
        allowed = self.keeper.kept(rows, open_.ids, torch.zeros(len(rows), dtype=torch.long))
        own, seen, aligned = rows.double().masked_fill(rows.isneginf(), 0.0), state.live.get(ALIGNMENT), open_.aligned
        if aligned is None and seen is not None:
            aligned = seen.new_zeros(1, 0, seen.shape[1])
        open_ = replace(open_, state=state, aligned=aligned)
        return open_.sums[:, None] + allowed.double(), open_.own[:, None] + own, open_

    def follow(self, open_: _Open, row: Tensor, token: Tensor, totals: Tensor, gains: Tensor) -> _Open:
        """Some rows with a token more."""
        seen, aligned = open_.state.live.get(ALIGNMENT), None
        if seen is not None:
            aligned = torch.cat([open_.aligned[row], seen[row][:, None]], 1)
        ids = torch.cat([open_.ids[row], token[:, None]], 1)
        return _Open(totals[row, token], gains[row, token], ids, token, open_.state.pick(row), aligned)

    def told(self, open_: _Open, row: Tensor, sums: Tensor, own: Tensor, ended: bool) -> list[Hypothesis]:
        """Rows as hypotheses."""
        inputs, aligned = torch.zeros_like(row), None if open_.aligned is None else open_.aligned[row]
        scores = self.scale.scores(sums, open_.ids.shape[1] + ended, aligned, inputs)
        alignments = self.scale.aligned(aligned, inputs.tolist())
        told = zip(open_.ids[row].tolist(), own.tolist(), scores, alignments, strict=True)
        return [Hypothesis(ids, probability, ended, score, seen) for ids, probability, score, seen in told]


def _score(hypothesis: Hypothesis) -> float:
    return hypothesis.score
