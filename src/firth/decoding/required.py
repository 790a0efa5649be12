"""Phrases that a text must have: how much of them is there, and what brings more."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


class Phrases:
    """Phrases as tokens. All is a function of the tokens written so far (rows, tokens)."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self.phrases = [torch.tensor(phrase) for phrase in dict.fromkeys(map(tuple, phrases))]
        self.sizes = torch.tensor([len(phrase) for phrase in self.phrases])
        self.total = int(self.sizes.sum())
        self.tokens = torch.cat(self.phrases).unique()

    def reached(self, ids: Tensor) -> Tensor:
        """Tokens of each phrase with which the text ends, or all of them if it has occurred (rows, phrases)."""
        return torch.stack([_reached(ids, phrase) for phrase in self.phrases], 1)

    def whole(self, ids: Tensor) -> Tensor:
        """Tokens of the phrases that have occurred (rows,)."""
        reached = self.reached(ids)
        return (reached * (reached == self.sizes)).sum(1)

    def met(self, ids: Tensor) -> Tensor:
        """The same and those of the phrase that is furthest of the others (rows,).

        What is missing, `total` less this, can be written one phrase after the other."""
        reached = self.reached(ids)
        there = reached == self.sizes
        return (reached * there).sum(1) + (reached * ~there).amax(1)

    def wanted(self, ids: Tensor) -> Tensor:
        """The next token of each phrase (rows, phrases); of one that is there its first."""
        reached = self.reached(ids)
        return torch.stack([phrase[reached[:, n] % len(phrase)] for n, phrase in enumerate(self.phrases)], 1)

    def saving(self, ids: Tensor, left: int) -> Tensor:
        """Which of `tokens` may come next if `left` more may be written (rows, tokens)."""
        rows, count = len(ids), len(self.tokens)
        longer = torch.cat([ids.repeat_interleave(count, 0), self.tokens.repeat(rows)[:, None]], 1)
        return self.total - self.met(longer).view(rows, count) < left


def _reached(ids: Tensor, phrase: Tensor) -> Tensor:
    time, size = ids.shape[1], len(phrase)
    found = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
    for part in range(1, min(size - 1, time) + 1):
        found[(ids[:, time - part :] == phrase[:part]).all(1)] = part
    if time >= size:
        found[(ids.unfold(1, size, 1) == phrase).all(2).any(1)] = size
    return found


def by_turns(scores: Tensor, banks: Tensor, count: int) -> Tensor:
    """Places of `count` candidates (inputs, candidates) chosen from the banks by turns, the fullest bank first.

    Hypotheses with equally much of what is required compete only with each other, else those that have written more of
    it, which costs, would all be lost (Post and Vilar 2018). Turns share a beam evenly between the banks that are
    there; what an empty one leaves falls to the others."""
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    order = order.gather(1, banks.gather(1, order).sort(dim=-1, descending=True, stable=True).indices)
    bank, at = banks.gather(1, order), torch.arange(order.shape[1], device=order.device)
    begins = F.pad(bank[:, 1:] != bank[:, :-1], (1, 0), value=False)
    turn = at - torch.where(begins, at, 0).cummax(1).values
    turn = turn.masked_fill(scores.gather(1, order).isneginf(), order.shape[1])  # what cannot be comes last
    return order.gather(1, turn.sort(dim=-1, stable=True).indices)[:, :count]
