"""Beam search: the most probable continuations, several at a time. Sees only a stepper.

Every input that is under way has the same number of rows, one after the other: row i × open + j is hypothesis j of
input i. So a stepper that reads a source can tell whose it is from the numbers of rows. `State.pick` reorders
hypotheses, `State.keep` drops finished inputs.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from firth.decoding.choosing import best, end_stuck
from firth.decoding.front import Chosen, Front, choose
from firth.decoding.required import Phrases
from firth.decoding.rules import Keeper, Rules
from firth.decoding.scoring import Beam, Hypothesis, Scale, length_penalty, real_source
from firth.decoding.tree import Grown, Tree, Trees
from firth.errors import FirthError
from firth.types import ALIGNMENT, Batch, Stepper

__all__ = ["Beam", "Hypothesis", "Searched", "length_penalty", "search"]


class Searched(NamedTuple):
    """What a search found for each input, best first, and the trees of the inputs."""

    found: list[list[Hypothesis]]
    trees: list[Tree]


@torch.inference_mode()
def search(
    stepper: Stepper,
    prompts: Batch,
    length: int,
    how: Beam,
    *,
    end: int,
    banned: Sequence[int] = (),
    rules: Rules | None = None,
    return_tree: bool = False,
) -> list[list[Hypothesis]] | Searched:
    """The best continuations of every prompt (all of one length), best first; of `length` tokens at most, or ended.

    A hypothesis ends when its [END] is among the `width` best of a step.
    """
    last, state = prompts.streams["text"].ids[:, -1], stepper.start(prompts)
    keeper = Keeper.of(rules, banned, end, len(last), length, stepper.size)
    chooser = _Chooser(how, end, torch.tensor(banned, dtype=torch.long, device=last.device), keeper)
    ended, front = _Ended(Scale(how, length, real_source(prompts)), len(last)), Front.begin(len(last), last.device)
    trees, step = Trees(len(last)) if return_tree else None, 0
    for step in range(1, length + 1):
        rows, state = stepper.step(last, state)
        seen = state.live.get(ALIGNMENT)
        front = front if seen is None else front.looking(seen)
        chosen = chooser.choose(front, rows)
        own = chooser.own(front, chosen, rows)
        ended.add(front, chosen, own)
        if trees is not None:
            _record(trees, front, chosen, rows, step, end)
        parents, front = front.first + chosen.parents.gather(1, chosen.kept), front.follow(chosen, own, seen)
        if step == length or not (going := ended.unfinished(front)):
            break
        state = state.pick(parents[going].flatten())
        if len(going) < len(parents):  # what is held of sources is large: it is copied only if it must be
            state, front = state.keep(torch.tensor(going, device=last.device)), front.only(going)
        last = front.ids[:, :, -1].flatten()
    if step == length:
        ended.close(front)
    found = ended.best()
    return found if trees is None else Searched(found, trees.finish(found, end))


class _Chooser(NamedTuple):
    """Which tokens come next."""

    how: Beam
    end: int
    banned: Tensor
    keeper: Keeper | None

    def choose(self, front: Front, rows: Tensor) -> Chosen:
        """The best candidates after the hypotheses; rows (rows, size)."""
        how, phrases = self.how, None
        # a group looks beyond what others may have taken
        count = min(2 * how.width if how.groups == 1 else 2 * how.width // how.groups + how.width, rows.shape[1])
        if self.keeper is None:
            found, tokens = best(rows, count, self.banned)
            end_stuck(found, tokens, self.end)
        else:
            ids, phrases = front.ids.flatten(0, 1), self.keeper.phrases
            rows = self.keeper.kept(rows, ids, front.inputs.repeat_interleave(front.ids.shape[1]))
            found, tokens = best(rows, count, self.banned[:0])
            if phrases is not None:
                found, tokens = _with_wanted(found, tokens, rows, ids, phrases)
        return choose(front, found, tokens, how, self.end, phrases)

    def own(self, front: Front, chosen: Chosen, rows: Tensor) -> Tensor | None:
        """Log-probabilities of the candidates under the model itself, where rules have changed them."""
        if self.keeper is None or not self.keeper.scales:
            return None
        return front.own.gather(1, chosen.parents) + _gains(front, chosen, rows)


def _gains(front: Front, chosen: Chosen, rows: Tensor) -> Tensor:
    """The log-probability of each candidate's token (inputs, candidates); 0 of an [END] where nothing can follow."""
    found = rows[front.first + chosen.parents, chosen.tokens].double()
    return found.masked_fill(found.isneginf(), 0.0)


def _with_wanted(found: Tensor, tokens: Tensor, rows: Tensor, ids: Tensor, phrases: Phrases) -> tuple[Tensor, Tensor]:
    """The candidates, and after them those that go on with what is required, however improbable."""
    wanted = phrases.wanted(ids)  # (rows, phrases)
    more = rows.gather(1, wanted)
    for place in range(wanted.shape[1]):  # each token once
        known = torch.cat([tokens, wanted[:, :place]], 1)
        more[(known == wanted[:, place : place + 1]).any(1), place] = -torch.inf
    return torch.cat([found, more], 1), torch.cat([tokens, wanted], 1)


class _Ended:
    """The hypotheses that have ended."""

    def __init__(self, scale: Scale, inputs: int) -> None:
        self.scale, self.how = scale, scale.how
        self.found: list[list[Hypothesis]] = [[] for _ in range(inputs)]
        self.scores: list[list[float]] = [[] for _ in range(inputs)]  # negated, so the best comes first

    def add(self, front: Front, chosen: Chosen, own: Tensor | None) -> None:
        """Those of a step's candidates that end."""
        row, place = chosen.ended.nonzero(as_tuple=True)
        if len(row):
            sums = chosen.sums[row, place]
            self._put(front, row, chosen.parents[row, place], sums, sums if own is None else own[row, place], True)

    def close(self, front: Front) -> None:
        """Those that are open at the end."""
        row, slot = (front.sums > -torch.inf).nonzero(as_tuple=True)
        self._put(front, row, slot, front.sums[row, slot], front.own[row, slot], False)

    def _put(self, front: Front, row: Tensor, slot: Tensor, sums: Tensor, own: Tensor, ended: bool) -> None:
        inputs, rows = front.inputs[row], front.ids[row, slot].tolist()
        aligned = None if front.aligned is None else front.aligned[row, slot]
        scores, numbers = self.scale.scores(sums, front.ids.shape[2] + ended, aligned, inputs), inputs.tolist()
        told = zip(numbers, rows, own.tolist(), scores, self.scale.aligned(aligned, numbers), strict=True)
        for number, ids, probability, score, alignment in told:
            # groups may come to the same text
            if self.how.groups > 1 and any(each.ids == ids and each.ended == ended for each in self.found[number]):
                continue
            self.found[number].append(Hypothesis(ids, probability, ended, score, alignment))
            insort(self.scores[number], -score)

    def unfinished(self, front: Front) -> list[int]:
        """The places of the inputs that go on."""
        hopes, how, going = self.scale.hopes(front.sums.max(1).values).tolist(), self.how, []
        for place, (number, hope) in enumerate(zip(front.inputs.tolist(), hopes, strict=True)):
            scores = self.scores[number]
            settled = len(scores) >= how.count and -scores[how.count - 1] >= hope and how.stop != "length"
            full = len(scores) >= how.width and how.stop == "completed"
            if hope > -torch.inf and not settled and not full:
                going.append(place)
        return going

    def best(self) -> list[list[Hypothesis]]:
        """The best of each input."""
        if not all(self.found):
            raise FirthError("no text keeps these rules", do="allow a greater length, or ask for less")
        return [sorted(each, key=lambda h: -h.score)[: self.how.count] for each in self.found]


def _record(trees: Trees, front: Front, chosen: Chosen, rows: Tensor, step: int, end: int) -> None:
    """Put a step's candidates into the trees."""
    parts = (chosen.parents, chosen.tokens, _gains(front, chosen, rows), chosen.sums, chosen.ended, chosen.kept)
    for number, *told in zip(front.inputs.tolist(), *(part.tolist() for part in parts), strict=True):
        trees.grow(number, step, Grown(*told), end)
