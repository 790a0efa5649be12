"""Lexically constrained decoding: phrases that the output must contain (Hokamp and Liu 2017; Post and Vilar 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


class PhrasalConstraints:
    """Phrases, as token ids, that must occur in the output; all is a function of the ids so far (rows, tokens)."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self.phrases = [torch.tensor(phrase) for phrase in dict.fromkeys(map(tuple, phrases))]
        self.sizes = torch.tensor([len(phrase) for phrase in self.phrases])
        self.total = int(self.sizes.sum())
        self.tokens = torch.cat(self.phrases).unique()

    def progress(self, ids: Tensor) -> Tensor:
        """How many tokens of each phrase the output ends with, or all of them if it has occurred (rows, phrases)."""
        return torch.stack([_phrase_progress(ids, phrase) for phrase in self.phrases], 1)

    def completed_tokens(self, ids: Tensor) -> Tensor:
        """Number of tokens in the phrases that have occurred (rows,)."""
        progress = self.progress(ids)
        return (progress * (progress == self.sizes)).sum(1)

    def satisfied_tokens(self, ids: Tensor) -> Tensor:
        """Completed tokens, plus those of the unfinished phrase that is furthest along (rows,).

        The rest, `total` less this, can be generated one phrase after the other."""
        progress = self.progress(ids)
        complete = progress == self.sizes
        return (progress * complete).sum(1) + (progress * ~complete).amax(1)

    def next_tokens(self, ids: Tensor) -> Tensor:
        """The next token of each phrase (rows, phrases); the first token of a phrase that has occurred."""
        progress = self.progress(ids)
        return torch.stack([phrase[progress[:, n] % len(phrase)] for n, phrase in enumerate(self.phrases)], 1)

    def feasible(self, ids: Tensor, remaining: int) -> Tensor:
        """Which of `tokens` may come next if `remaining` tokens may still be generated (rows, tokens)."""
        rows, count = len(ids), len(self.tokens)
        longer = torch.cat([ids.repeat_interleave(count, 0), self.tokens.repeat(rows)[:, None]], 1)
        return self.total - self.satisfied_tokens(longer).view(rows, count) < remaining


def _phrase_progress(ids: Tensor, phrase: Tensor) -> Tensor:
    time, size = ids.shape[1], len(phrase)
    progress = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
    for length in range(1, min(size - 1, time) + 1):
        progress[(ids[:, time - length :] == phrase[:length]).all(1)] = length
    if time >= size:
        progress[(ids.unfold(1, size, 1) == phrase).all(2).any(1)] = size
    return progress


def allocate_beam(scores: Tensor, banks: Tensor, count: int) -> Tensor:
    """Dynamic beam allocation: indices of `count` candidates (inputs, candidates), taken from the banks in turn.

    A bank holds the candidates that satisfy equally many constraint tokens. They compete only with each other, else
    hypotheses that have generated more of the constraints, which costs log-probability, would all be pruned (Post and
    Vilar 2018). Turns divide the beam evenly between the banks, the fullest first; the slots of an empty bank fall to
    the others."""
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    order = order.gather(1, banks.gather(1, order).sort(dim=-1, descending=True, stable=True).indices)
    bank, index = banks.gather(1, order), torch.arange(order.shape[1], device=order.device)
    bank_starts = F.pad(bank[:, 1:] != bank[:, :-1], (1, 0), value=False)
    turn = index - torch.where(bank_starts, index, 0).cummax(1).values
    turn = turn.masked_fill(scores.gather(1, order).isneginf(), order.shape[1])  # impossible candidates come last
    return order.gather(1, turn.sort(dim=-1, stable=True).indices)[:, :count]
