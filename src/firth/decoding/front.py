"""The open hypotheses of a beam search, and how one step chooses those that go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from firth.decoding.choosing import highest
from firth.decoding.required import Phrases, by_turns
from firth.decoding.scoring import Beam


@dataclass(frozen=True)
class Front:
    """The open hypotheses of the inputs under way; one that cannot be has a sum of -inf."""

    inputs: Tensor  # (inputs,) their numbers in the batch
    sums: Tensor  # (inputs, open) what is chosen by
    own: Tensor  # (inputs, open) log-probabilities under the model itself; the same, where nothing changes them
    ids: Tensor  # (inputs, open, tokens so far)
    aligned: Tensor | None = None  # (inputs, open, tokens so far, source length)

    @classmethod
    def begin(cls, count: int, device: torch.device) -> Front:
        """One empty hypothesis of each input."""
        sums = torch.zeros(count, 1, dtype=torch.float64, device=device)
        ids = torch.zeros(count, 1, 0, dtype=torch.long, device=device)
        return cls(torch.arange(count, device=device), sums, sums, ids)

    @property
    def first(self) -> Tensor:
        """The row of each input's first hypothesis (inputs, 1)."""
        count, open_ = self.sums.shape
        return torch.arange(count, device=self.sums.device)[:, None] * open_

    def follow(self, chosen: Chosen, own: Tensor | None, seen: Tensor | None) -> Front:
        """One token more: of the candidates those that are kept. `own` (inputs, candidates), `seen` (rows, source)."""
        sums, parents, tokens = (part.gather(1, chosen.kept) for part in (chosen.sums, chosen.parents, chosen.tokens))
        sums = sums.masked_fill(chosen.ends.gather(1, chosen.kept), -torch.inf)
        ids = torch.cat([_of(self.ids, parents), tokens[:, :, None]], 2)
        aligned = None
        if seen is not None:
            aligned = torch.cat([_of(self.aligned, parents), seen[self.first + parents][:, :, None]], 2)
        return Front(self.inputs, sums, sums if own is None else own.gather(1, chosen.kept), ids, aligned)

    def looking(self, seen: Tensor) -> Front:
        """The same, where it is only now known that a source is looked at, and how long sources are."""
        if self.aligned is not None:
            return self
        return replace(self, aligned=seen.new_zeros(*self.ids.shape, seen.shape[1]))

    def only(self, going: Tensor) -> Front:
        """The inputs that go on."""
        aligned = None if self.aligned is None else self.aligned[going]
        return Front(self.inputs[going], self.sums[going], self.own[going], self.ids[going], aligned)


def _of(values: Tensor, parents: Tensor) -> Tensor:
    """What hypotheses (inputs, open, …) leave to those that follow them (inputs, some, …)."""
    return values[torch.arange(len(values), device=values.device)[:, None], parents]


class Chosen(NamedTuple):
    """The best candidates of a step (inputs, candidates), in the order in which they are taken."""

    sums: Tensor
    parents: Tensor  # slots in the front
    tokens: Tensor
    ends: Tensor  # whether it is [END]
    ended: Tensor  # whether it is a hypothesis that has ended
    kept: Tensor  # (inputs, open): places of those that go on


def choose(front: Front, found: Tensor, tokens: Tensor, how: Beam, end: int, phrases: Phrases | None) -> Chosen:
    """Of the best tokens after each hypothesis (rows, some) the best candidates; in groups, one after the other."""
    (count, open_), size, width = front.sums.shape, found.shape[1], how.width // how.groups
    sums, tokens = front.sums[:, :, None] + found.view(count, open_, size), tokens.view(count, open_, size)
    banks = None if phrases is None else _banks(front.ids, tokens, phrases)
    parts: list[Chosen] = []
    for group in range(how.groups):
        mine = slice(group * open_ // how.groups, (group + 1) * open_ // how.groups) if open_ > 1 else slice(0, 1)
        ranked = sums[:, mine]
        if parts:
            ranked = ranked - how.diversity * _taken(parts, tokens[:, mine])
        order = _order(ranked.flatten(1), None if banks is None else banks[:, mine].flatten(1), 2 * width)
        parents = order // size + mine.start
        found_sums, found_tokens = (part[:, mine].flatten(1).gather(1, order) for part in (sums, tokens))
        parts.append(_split(found_sums, parents, found_tokens, width, end))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _order(scores: Tensor, banks: Tensor | None, count: int) -> Tensor:
    # Each open hypothesis can end in one way only, so twice the width holds enough that go on.
    count = min(count, scores.shape[1])
    return highest(scores, count)[1] if banks is None else by_turns(scores, banks, count)


def _split(sums: Tensor, parents: Tensor, tokens: Tensor, width: int, end: int) -> Chosen:
    """Ended is what ends among the first `width`; what does not end goes on, up to the width."""
    ends = tokens == end
    ended = ends & (sums > -torch.inf)
    ended[:, width:] = False
    kept = ends.sort(dim=-1, stable=True).indices[:, :width]
    return Chosen(sums, parents, tokens, ends, ended, kept)


def _joined(parts: Iterable[Chosen]) -> Chosen:
    """The candidates of all groups, one group after the other."""
    begun, moved = 0, []
    for part in parts:
        moved.append(part._replace(kept=part.kept + begun))
        begun += part.sums.shape[1]
    return Chosen(*(torch.cat(each, 1) for each in zip(*moved, strict=True)))


def _taken(parts: Iterable[Chosen], tokens: Tensor) -> Tensor:
    """How often groups before have just taken each token (Vijayakumar et al. 2018)."""
    taken = torch.cat([part.tokens.gather(1, part.kept) for part in parts], 1)
    return (tokens[..., None] == taken[:, None, None, :]).sum(-1)


def _banks(ids: Tensor, tokens: Tensor, phrases: Phrases) -> Tensor:
    """How much of what is required each candidate has (inputs, open, some)."""
    before = ids[:, :, None].expand(*tokens.shape, ids.shape[2])
    return phrases.met(torch.cat([before, tokens[..., None]], 3).flatten(0, 2)).view(tokens.shape)
