"""Beam search: the most probable continuations, several at a time. Sees only a stepper.

Every input that is under way has the same number of rows, one after the other: row i × open + j is hypothesis j of
input i. So a stepper that reads a source can tell whose it is from the numbers of rows. `State.pick` reorders
hypotheses, `State.keep` drops finished inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from firth.config.core import bounded
from firth.errors import FirthError
from firth.types import Batch, Stepper


@dataclass(frozen=True)
class Beam:
    """How to search."""

    width: int = bounded(5, least=1)  # hypotheses kept; 1: greedy
    penalty: float = bounded(0.0, least=0.0, most=10.0)  # alpha of Wu et al. 2016: above 0 favours longer texts
    count: int = bounded(1, least=1)  # hypotheses returned


@dataclass(frozen=True)
class Hypothesis:
    """One continuation, without its [END]."""

    ids: list[int]
    log_probability: float  # with [END] if it came
    ended: bool
    score: float  # the log-probability over the length penalty: what hypotheses are ranked by


def length_penalty(tokens: int, alpha: float) -> float:
    """What a log-probability is divided by: ((5 + n) / 6)^alpha of n tokens, [END] counted (Wu et al. 2016)."""
    return ((5 + tokens) / 6) ** alpha


def search(
    stepper: Stepper, prompts: Batch, length: int, how: Beam, *, end: int, banned: Sequence[int] = ()
) -> list[list[Hypothesis]]:
    """The best continuations of every prompt (all of one length), best first; of `length` tokens at most, or ended.

    A hypothesis ends when its [END] is among the `width` best of a step. An input is finished when `width` have ended
    or when no open one can still come before the `count` best of them.
    """
    if how.count > how.width:
        raise FirthError(f"a beam of {how.width} has no {how.count} best", do="make the beam wider")
    last, state = prompts.streams["text"].ids[:, -1], stepper.start(prompts)
    found: list[list[Hypothesis]] = [[] for _ in last]
    front = _Front.begin(len(last), last.device)
    for step in range(1, length + 1):
        rows, state = stepper.step(last, state)
        front, parents, ended = front.grow(rows, how, end, banned)
        for number, hypothesis in ended:
            found[number].append(replace(hypothesis, score=_score(hypothesis, how)))
        if step == length:
            break
        going = front.unfinished(found, how, length)
        front, parents = front.only(going), parents[going]
        if not len(going):
            break
        last, state = front.ids[:, :, -1].flatten(), state.pick(parents.flatten()).keep(going)
    for number, hypothesis in front.opened():
        found[number].append(replace(hypothesis, score=_score(hypothesis, how)))
    return [sorted(each, key=lambda h: -h.score)[: how.count] for each in found]


def _score(hypothesis: Hypothesis, how: Beam) -> float:
    return hypothesis.log_probability / length_penalty(len(hypothesis.ids) + hypothesis.ended, how.penalty)


def _highest(totals: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest of each row and their places; of equal ones the first, as greedy choice takes them."""
    least, places = totals.topk(count).values[:, -1:], []
    for row, reached in zip(totals, totals >= least, strict=True):
        there = reached.nonzero().squeeze(-1)
        places.append(there[row[there].sort(descending=True, stable=True).indices[:count]])
    found = torch.stack(places)
    return totals.gather(1, found), found


@dataclass(frozen=True)
class _Front:
    """The open hypotheses of the inputs under way; one that cannot be has a sum of -inf."""

    inputs: Tensor  # (inputs,) their numbers in the batch
    sums: Tensor  # (inputs, open) log-probabilities
    ids: Tensor  # (inputs, open, tokens so far)

    @classmethod
    def begin(cls, count: int, device: torch.device) -> _Front:
        sums = torch.zeros(count, 1, dtype=torch.float64, device=device)
        return cls(torch.arange(count, device=device), sums, torch.zeros(count, 1, 0, dtype=torch.long, device=device))

    def grow(
        self, rows: Tensor, how: Beam, end: int, banned: Sequence[int]
    ) -> tuple[_Front, Tensor, list[tuple[int, Hypothesis]]]:
        """One token more; also the row each hypothesis came from (inputs, open), and those that ended."""
        (count, open_), size = self.sums.shape, rows.shape[-1]
        allowed = rows.to(torch.float64, copy=True)  # the stepper's own row stays as it is
        allowed[:, list(banned)] = -torch.inf
        allowed[allowed.isneginf().all(-1), end] = 0.0  # nothing can follow, without smoothing: the text ends
        totals = (self.sums[:, :, None] + allowed.view(count, open_, size)).flatten(1)
        # Each open hypothesis can end in one way only, so twice the width holds enough that go on.
        sums, places = _highest(totals, min(2 * how.width, totals.shape[1]))
        parents, tokens = places // size, places % size
        ended = self._ended(sums[:, : how.width], parents, tokens == end)
        sums = sums.masked_fill(tokens == end, -torch.inf)
        best = torch.sort(sums, descending=True, stable=True).indices[:, : how.width]
        sums, parents, tokens = (values.gather(1, best) for values in (sums, parents, tokens))
        before = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.ids.shape[2]))
        ids = torch.cat([before, tokens[:, :, None]], 2)
        first = torch.arange(count, device=parents.device)[:, None] * open_
        return replace(self, sums=sums, ids=ids), first + parents, ended

    def _ended(self, sums: Tensor, parents: Tensor, ends: Tensor) -> list[tuple[int, Hypothesis]]:
        there = ends[:, : sums.shape[1]] & (sums > -torch.inf)
        return [
            (int(self.inputs[i]), Hypothesis(self.ids[i, parents[i, j]].tolist(), float(sums[i, j]), True, 0.0))
            for i, j in there.nonzero().tolist()
        ]

    def unfinished(self, found: Sequence[Sequence[Hypothesis]], how: Beam, length: int) -> Tensor:
        """Which inputs go on. A sum only falls, and no penalty divides it by more than that of the full length."""
        hopes = (self.sums.max(1).values / length_penalty(length, how.penalty)).tolist()
        going = []
        for place, (number, hope) in enumerate(zip(self.inputs.tolist(), hopes, strict=True)):
            scores = sorted((hypothesis.score for hypothesis in found[number]), reverse=True)
            settled = len(scores) >= how.count and scores[how.count - 1] >= hope
            if hope > -torch.inf and len(scores) < how.width and not settled:
                going.append(place)
        return torch.tensor(going, dtype=torch.long, device=self.sums.device)

    def only(self, going: Tensor) -> _Front:
        """The inputs that go on."""
        return _Front(self.inputs[going], self.sums[going], self.ids[going])

    def opened(self) -> list[tuple[int, Hypothesis]]:
        """The hypotheses that are open at the full length."""
        return [
            (int(self.inputs[i]), Hypothesis(self.ids[i, j].tolist(), float(self.sums[i, j]), False, 0.0))
            for i, j in (self.sums > -torch.inf).nonzero().tolist()
        ]
