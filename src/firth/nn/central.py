"""Tokens that see all and are seen by all, however far (Beltagy et al. 2020). There are few of them in a row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.linear import Linear
from firth.nn.patterns import Marks, View
from firth.nn.positions import head_width


class Chosen(NamedTuple):
    """Some tokens of each row; rows that have fewer are filled up with others, which do not count."""

    places: Tensor  # (batch, chosen)
    real: Tensor  # (batch, chosen)

    @classmethod
    def of(cls, marked: Tensor) -> Chosen:
        """The marked tokens (batch, time) of each row."""
        most = int(marked.sum(1).max())
        places = torch.argsort(marked.int(), dim=1, descending=True, stable=True)[:, :most]
        return cls(places, marked.gather(1, places))

    def marks(self, marks: Marks) -> Marks:
        """What a pattern may ask of them."""
        picked = (None if mark is None else mark.gather(1, self.places) for mark in marks[1:])
        return Marks(marks.place[self.places], *picked)

    def take(self, x: Tensor) -> Tensor:
        """Their vectors: x (batch, heads, time, width) -> (batch, heads, chosen, width)."""
        return x.gather(2, self._over(x))

    def put(self, x: Tensor, new: Tensor) -> Tensor:
        """x (batch, heads, time, width) with their vectors in it."""
        new = torch.where(self.real[:, None, :, None], new.to(x.dtype), self.take(x))
        return x.scatter(2, self._over(x), new)

    def _over(self, x: Tensor) -> Tensor:
        return self.places[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3])


def chosen(view: View) -> Chosen | None:
    """The central tokens among the queries; None where there are none."""
    if "central" not in view.kept:
        marked = view.queries.central
        view.kept["central"] = Chosen.of(marked) if marked is not None and bool(marked.any()) else None
    return view.kept["central"]


def look_at_all(
    queries: Tensor, keys: Tensor, values: Tensor, who: Chosen, view: View, dropout: float, scale: float
) -> Tensor:
    """What the chosen queries (batch, heads, chosen, width) find among all keys (batch, heads, time, width)."""
    mask = visible_to(who, view)
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, scale=scale)


def visible_to(who: Chosen, view: View) -> Tensor:
    """Which keys the chosen queries see (batch, 1, chosen, keys)."""
    return view.visible(who.marks(view.queries), view.keys)[:, None]


class Own(nn.Module):
    """Queries, keys and values by which central tokens look at all; how others see them does not change."""

    def __init__(self, config: Transformer):
        super().__init__()
        self.heads, self.width = config.heads, head_width(config)
        bias = config.bias and config.attention_bias
        self.inputs = Linear(config.width, 3 * self.heads * self.width, bias=bias)

    def forward(self, x: Tensor, who: Chosen) -> tuple[Tensor, Tensor, Tensor]:
        """x (batch, time, width) -> queries of the chosen, keys and values of all (batch, heads, …, head width)."""
        size, (weight, bias) = self.heads * self.width, (self.inputs.weight, self.inputs.bias)
        some = x.gather(1, who.places[..., None].expand(-1, -1, x.shape[2]))
        queries = F.linear(some, weight[:size], None if bias is None else bias[:size])
        keys, values = F.linear(x, weight[size:], None if bias is None else bias[size:]).chunk(2, -1)
        return self._split(queries), self._split(keys), self._split(values)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.heads, self.width)).transpose(1, 2)
