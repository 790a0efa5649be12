"""The most probable tokens of rows of log-probabilities, the same ones each time."""

from __future__ import annotations

import torch
from torch import Tensor


def highest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest of each row (rows, count), best first, and their places; of equal ones the first."""
    if count >= values.shape[-1]:
        return values.sort(dim=-1, descending=True, stable=True)
    found, places = values.topk(count + 1)
    places, least = places[:, :count].sort(-1).values, found[:, -1]
    tied = (found[:, -2] == least) & (least > -torch.inf)  # topk leaves open which of equal ones it takes
    for row in tied.nonzero().squeeze(-1).tolist():
        places[row] = _first(values[row], least[row], count)
    found, order = values.gather(1, places).sort(dim=-1, descending=True, stable=True)
    return found, places.gather(1, order)


def _first(row: Tensor, least: Tensor, count: int) -> Tensor:
    """Places of the `count` highest values of a row, in their order, when more than that reach `least`."""
    there = (row >= least).nonzero().squeeze(-1)
    return there[row[there].sort(descending=True, stable=True).indices[:count]].sort().values


def best(rows: Tensor, count: int, banned: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and tokens of the best that are not banned (rows, count); -inf where there are no more.

    Only what comes out at the top is looked at: rows are as long as the vocabulary, and there are many."""
    found, tokens = highest(rows, min(count + len(banned), rows.shape[-1]))
    if not len(banned):
        return found, tokens
    found = found.masked_fill(torch.isin(tokens, banned), -torch.inf)
    found, order = found.sort(dim=-1, descending=True, stable=True)
    return found[:, :count], tokens.gather(1, order[:, :count])


def end_stuck(found: Tensor, tokens: Tensor, end: int) -> None:
    """Where nothing can follow, as in models without smoothing, the text ends, surely. In place."""
    stuck = found[:, 0].isneginf()
    if bool(stuck.any()):
        found[stuck, 0], tokens[stuck, 0] = 0.0, end
