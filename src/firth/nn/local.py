"""Attention within stretches of the text (Kitaev et al. 2020): each token sees its chunk and chunks beside it."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import Local, Transformer
from firth.nn.attention import Attention, Scene, weights_over
from firth.nn.chunks import beside, cut, real
from firth.nn.patterns import Marks, View


class LocalAttention(Attention):
    """Attention to what is near; time and memory are linear in length."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        self.near = config.local
        self.kernel = partial(local, config=config.local)

    def weights(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each (batch, heads, queries, keys), worked out plainly."""
        queries, keys, _, _ = self.prepared(x, scene)
        place = scene.view.keys.place // self.near.chunk
        apart = place[:, None] - place
        near = (apart <= self.near.before) & (apart >= -self.near.after)
        return weights_over(queries * self.scale, keys, scene.view.seen & near, None)


def local(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    view: View,
    bias: Tensor | None,
    dropout: float,
    scale: float,
    config: Local,
) -> Tensor:
    """A kernel; queries, keys and values are of the same tokens (batch, heads, time, head width), `bias` is None."""
    batch, _, time, _ = queries.shape
    queries, keys, values = (cut(x, config.chunk, 2) for x in (queries, keys, values))
    sides = _sides(config, queries.shape[2])
    if (Local, config) not in view.kept:
        view.kept[Local, config] = _mask(view, config, batch)
    # (batch, heads, chunks, chunk, head width) -> (batch × chunks, heads, chunk, head width), as the fused kernel wants
    shown = (queries, beside(keys, *sides, 2), beside(values, *sides, 2))
    shown = (x.transpose(1, 2).flatten(0, 1) for x in shown)
    found = F.scaled_dot_product_attention(*shown, view.kept[Local, config], dropout, scale=scale)
    return found.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)[:, :, :time]


def _sides(config: Local, chunks: int) -> tuple[int, int]:
    """How many chunks before and after each are looked at, of so many."""
    return min(config.before, chunks - 1), min(config.after, chunks - 1)


def _mask(view: View, config: Local, batch: int) -> Tensor:
    """What each token sees of its chunk and those beside it (batch × chunks, 1, chunk, n × chunk)."""
    time = view.keys.place.shape[-1]
    marks = [None if mark is None else cut(mark.expand(batch, time), config.chunk, 1) for mark in view.keys]
    there = cut(torch.ones(1, time, dtype=torch.bool, device=view.keys.place.device), config.chunk, 1)
    chunks = there.shape[1]
    sides = _sides(config, chunks)
    q = Marks(*(None if mark is None else mark.flatten(0, 1) for mark in marks))
    k = Marks(*(None if mark is None else beside(mark, *sides, 1).flatten(0, 1) for mark in marks))
    kept = beside(there, *sides, 1)[0] & real(chunks, *sides, config.chunk, there.device)
    return (view.visible(q, k) & kept.repeat(batch, 1)[:, None])[:, None]
