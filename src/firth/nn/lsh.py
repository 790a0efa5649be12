"""Attention among tokens alike by locality-sensitive hashing (Kitaev et al. 2020).

Queries are keys too. Random directions put them into buckets, in several rounds; in the order of their buckets tokens
are cut into chunks, and each sees, of its own bucket, those in its chunk and in chunks beside it. No token looks at
itself unless it sees nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import LSH, Transformer
from firth.nn.attention import Heads, Scene
from firth.nn.chunks import beside, cut, real
from firth.nn.patterns import Marks, View

NOTHING, ITSELF = -1e9, -1e5  # scores of what is not seen, and of the token itself: below all others
SEED = 2020  # of the directions in evaluation: each layer's are the same at all times
MOST = 2**14  # buckets


class LSHAttention(Heads):
    """Each token takes a weighted mean over tokens alike; time and memory are nearly linear in length."""

    parts = 2  # queries, which are keys too, and values

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        self.config, self.counts = config.lsh, bucket_counts(config.lsh, config.context)
        private = torch.Generator().manual_seed(SEED + layer)
        self.register_buffer("directions", self._draw(private), persistent=False)

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, values = self.split(self.inputs(x), 2)
        sorting = Sorting.of(self.buckets(queries, scene), scene.view, self.config)
        shares, totals = weigh(queries, sorting, scene.view, self.scale)
        found = F.dropout(shares, self.dropout, self.training).to(values.dtype) @ sorting.beside(sorting.sort(values))
        # (batch, heads, rounds, time, head width): rounds weigh as much as all that is seen in them
        found = sorting.back(found) * torch.softmax(sorting.back(totals), 2).to(found.dtype)
        return self.joined(found.sum(2))

    def buckets(self, queries: Tensor, scene: Scene) -> Tensor:
        """Of each token in each round (batch, heads, rounds, time)."""
        # drawn even where buckets are known already, so that a second pass finds the same randomness after it
        directions = self._draw().to(queries.device) if self.training else self.directions
        if scene.decided is not None and self.layer in scene.decided:
            return scene.decided[self.layer].long()
        found = hashed(queries.detach(), directions, self.counts)
        if scene.decided is not None:
            scene.decided[self.layer] = found.to(torch.int16)
        return found

    def weights(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each (batch, heads, queries, keys), all rounds together."""
        queries, _ = self.split(self.inputs(x), 2)
        sorting = Sorting.of(self.buckets(queries, scene), scene.view, self.config)
        shares, totals = weigh(queries, sorting, scene.view, self.scale)
        keys = sorting.beside(cut(sorting.order, sorting.size, -1))[..., None, :]  # who the shares are taken from
        keys = sorting.back(keys.expand(*shares.shape)).clamp(max=sorting.time - 1)
        shares = sorting.back(shares) * torch.softmax(sorting.back(totals), 2)  # (batch, heads, rounds, time, n × size)
        return shares.new_zeros(*queries.shape[:3], sorting.time).scatter_add_(
            -1, keys.transpose(2, 3).flatten(3), shares.transpose(2, 3).flatten(3)
        )

    def _draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Random directions (heads, head width, rounds, half of the buckets)."""
        half = sum(count // 2 for count in self.counts)
        return torch.randn(self.heads, self.width, self.config.rounds, half, generator=generator)


def bucket_counts(config: LSH, context: int) -> tuple[int, ...]:
    """Numbers whose product is how many buckets there are: two for each chunk, as the paper advises, if none are set.

    Two numbers instead of one large one need far fewer directions."""
    if config.buckets:
        return config.buckets
    power = min(MOST, max(2, 2 * context // config.chunk)).bit_length() - 1
    return (2**power,) if power < 8 else (2 ** (power // 2), 2 ** (power - power // 2))


@torch.no_grad()
def hashed(vectors: Tensor, directions: Tensor, counts: tuple[int, ...]) -> Tensor:
    """The bucket of each vector (batch, heads, time, head width) in each round -> (batch, heads, rounds, time).

    Of so many directions and their opposites, the one that it points to most (Andoni et al. 2015)."""
    turned = torch.einsum("bhtw,hwrn->bhrtn", vectors, directions.to(vectors.dtype))
    found, product = torch.zeros(turned.shape[:-1], dtype=torch.long, device=vectors.device), 1
    for count, part in zip(counts, turned.split([count // 2 for count in counts], -1), strict=True):
        if count > 1:
            found += product * torch.cat([part, -part], -1).argmax(-1)
            product *= count
    return found


@dataclass(frozen=True)
class Sorting:
    """Tokens in the order of their buckets, in chunks; and who may look at whom there."""

    order: Tensor  # (batch, heads, rounds, time and filling): places
    bucket: Tensor  # the same shape, sorted
    time: int
    size: int  # of a chunk
    sides: tuple[int, int]  # chunks before and after each that it looks at
    config: LSH

    @classmethod
    def of(cls, buckets: Tensor, view: View, config: LSH) -> Sorting:
        """By buckets (batch, heads, rounds, time), then by place; padding, and filling to whole chunks, come last."""
        time = buckets.shape[-1]
        if config.across and time <= config.chunk:
            buckets = buckets[:, :, :1]  # all is in one chunk: rounds would find the same
        size = min(config.chunk, time)
        last = torch.iinfo(torch.int16).max
        buckets = buckets.masked_fill(~view.keys.mask[:, None, None], last)
        bucket, order = F.pad(buckets, (0, -time % size), value=last).sort(dim=-1, stable=True)
        beside = order.shape[-1] // size - 1
        sides = (min(config.before, beside), min(config.after, beside))
        return cls(order, bucket, time, size, sides, config)

    def sort(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, heads, rounds, chunks, size, width)."""
        found = _take(x, self.order.flatten(2).clamp(max=self.time - 1))
        return cut(found.unflatten(2, self.order.shape[2:]), self.size, 3)

    def beside(self, x: Tensor) -> Tensor:
        """Chunks with those beside them: (batch, heads, rounds, chunks, size, …) -> (…, n × size, …)."""
        if not self.config.across:
            return beside(x, *self.sides, 3)
        return beside(x.flatten(2, 3), *self.sides, 2).unflatten(2, x.shape[2:4])  # rounds follow each other

    def back(self, x: Tensor) -> Tensor:
        """x (batch, heads, rounds, chunks, size, width) -> (batch, heads, rounds, time, width)."""
        places = torch.arange(self.order.shape[-1], device=x.device).expand(self.order.shape)
        return _take(x.flatten(3, 4), torch.empty_like(self.order).scatter_(-1, self.order, places)[..., : self.time])

    def visible(self, view: View) -> Tensor:
        """Which of the keys beside it each token sees (batch, heads, rounds, chunks, size, n × size)."""
        shape, filled = self.order.shape, self.order < self.time
        at = self.order.clamp(max=self.time - 1)

        def sorted_marks(mark: Tensor | None) -> Tensor | None:
            if mark is None:
                return None
            found = mark.expand(shape[0], self.time)[:, None, None].expand(*shape[:3], -1).gather(-1, at)
            return cut(found, self.size, 3)

        marks = [sorted_marks(mark) for mark in view.keys._replace(place=view.keys.place.int())]
        q = Marks(*(None if mark is None else mark.flatten(0, 3) for mark in marks))
        k = Marks(*(None if mark is None else self.beside(mark).flatten(0, 3) for mark in marks))
        found = view.visible(q, k).unflatten(0, (*shape[:3], -1))
        return found & self.beside(cut(filled, self.size, 3))[..., None, :] & self._alike()

    def _alike(self) -> Tensor:
        """The last tokens of the same bucket, as many as the chunks before have; or all that is beside a token."""
        bucket = cut(self.bucket, self.size, 3)
        if self.config.across:
            return bucket.new_ones(1, dtype=torch.bool)
        (before, after), device = self.sides, bucket.device
        places = torch.arange(-before * self.size, (after + 1) * self.size, device=device)
        apart = torch.arange(self.size, device=device)[:, None] - places  # (size, n × size): in the order of buckets
        near = (apart <= self.config.before * self.config.chunk) & (apart >= -self.config.after * self.config.chunk)
        inside = real(bucket.shape[3], before, after, self.size, device)[:, None]  # (chunks, 1, n × size)
        return (bucket[..., :, None] == self.beside(bucket)[..., None, :]) & near & inside


def weigh(queries: Tensor, sorting: Sorting, view: View, scale: float) -> tuple[Tensor, Tensor]:
    """Shares that tokens take from each other (batch, heads, rounds, chunks, size, n × size), and what they are of.

    The second, (…, size, 1), is the logarithm of the sum of scores; a token that sees nothing has shares of 0."""
    queries = sorting.sort(queries)
    keys = F.rms_norm(queries, queries.shape[-1:], eps=1e-6) * scale
    scores = (queries @ sorting.beside(keys).transpose(-1, -2)).float()
    places = cut(sorting.order, sorting.size, 3)
    itself = places[..., :, None] == sorting.beside(places)[..., None, :]
    visible = sorting.visible(view)
    scores = scores.masked_fill(itself, ITSELF).masked_fill(~visible, NOTHING)
    shares = torch.softmax(scores, -1)
    top, at = scores.max(-1, keepdim=True)
    totals = top - shares.gather(-1, at).log()  # quicker than logsumexp, and the same
    return shares.masked_fill(~visible, 0.0), totals


def _take(x: Tensor, index: Tensor) -> Tensor:
    """Rows of x (groups …, rows, width) by index (groups …, n) -> (groups …, n, width)."""
    first = torch.arange(math.prod(index.shape[:-1]), device=x.device) * x.shape[-2]
    rows = (index.flatten(0, -2) + first[:, None]).flatten()
    return x.reshape(-1, x.shape[-1]).index_select(0, rows).view(*index.shape, x.shape[-1])
