"""LSH attention of the Reformer (Kitaev et al. 2020): attention among similar tokens by locality-sensitive hashing.

Queries and keys share one projection. Random rotations hash them into buckets, in several rounds. Tokens are sorted by
bucket and split into chunks; each attends to tokens of its bucket in its own and adjacent chunks, and to itself only if
it attends to nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import LSH, ReformerAttention, Transformer
from firth.nn.attention.chunks import adjacent_chunks, adjacent_mask, split_chunks
from firth.nn.attention.mask import AttentionMask
from firth.nn.attention.multi_head import AttentionContext, AttentionProjections

MASKED_SCORE, SELF_SCORE = -1e9, -1e5  # scores of masked keys and of the token itself: below all others
SEED = 2020  # of the rotations in evaluation, which are fixed for each layer
MAX_BUCKETS = 2**14


class LSHAttention(AttentionProjections):
    """Multi-head attention within hash buckets; time and memory are nearly linear in sequence length."""

    projections = ("query", "value")  # queries are the keys too
    rotations: Tensor

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        assert isinstance(config.attention, ReformerAttention)
        self.config = config.attention.lsh
        self.bucket_factors = factorise_buckets(self.config, config.context)
        generator = torch.Generator().manual_seed(SEED + layer)
        self.register_buffer("rotations", self._sample_rotations(generator), persistent=False)

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, values = self.split_heads(self.qkv_proj(x), 2)
        buckets = SortedBuckets.from_buckets(self.hash_buckets(queries, context), context.mask, self.config)
        weights, logsumexp = chunk_weights(queries, buckets, context.mask, self.scale)
        output = F.dropout(weights, self.dropout, self.training).to(values.dtype) @ buckets.adjacent(
            buckets.sort(values)
        )
        # (batch, heads, rounds, time, head width): rounds are weighted by the logsumexp of their scores
        output = buckets.unsort(output) * torch.softmax(buckets.unsort(logsumexp), 2).to(output.dtype)
        return self.merge_heads(output.sum(2))

    def hash_buckets(self, queries: Tensor, context: AttentionContext) -> Tensor:
        """The hash bucket of each token in each round (batch, heads, rounds, time)."""
        # sampled even if the buckets are stored, so that a recomputed pass leaves the random state as the first did
        rotations = self._sample_rotations().to(queries.device) if self.training else self.rotations
        if context.lsh_buckets is not None and self.layer in context.lsh_buckets:
            return context.lsh_buckets[self.layer].long()
        buckets = hash_vectors(queries.detach(), rotations, self.bucket_factors)
        if context.lsh_buckets is not None:
            context.lsh_buckets[self.layer] = buckets.to(torch.int16)
        return buckets

    def weights(self, x: Tensor, context: AttentionContext) -> Tensor:
        """Attention weights (batch, heads, queries, keys), summed over rounds."""
        queries, _ = self.split_heads(self.qkv_proj(x), 2)
        buckets = SortedBuckets.from_buckets(self.hash_buckets(queries, context), context.mask, self.config)
        weights, logsumexp = chunk_weights(queries, buckets, context.mask, self.scale)
        # positions of the keys that the weights belong to
        keys = buckets.adjacent(split_chunks(buckets.order, buckets.chunk_size, -1))[..., None, :]
        keys = buckets.unsort(keys.expand(*weights.shape)).clamp(max=buckets.time - 1)
        # (batch, heads, rounds, time, n × size)
        weights = buckets.unsort(weights) * torch.softmax(buckets.unsort(logsumexp), 2)
        return weights.new_zeros(*queries.shape[:3], buckets.time).scatter_add_(
            -1, keys.transpose(2, 3).flatten(3), weights.transpose(2, 3).flatten(3)
        )

    def _sample_rotations(self, generator: torch.Generator | None = None) -> Tensor:
        """Random rotations (heads, head width, rounds, half the buckets)."""
        half = sum(count // 2 for count in self.bucket_factors)
        return torch.randn(self.heads, self.head_width, self.config.rounds, half, generator=generator)


def factorise_buckets(config: LSH, context: int) -> tuple[int, ...]:
    """Factors of the number of buckets; by default two buckets per chunk, as the paper advises.

    Two factors instead of one large number need far fewer rotations."""
    if config.buckets:
        return config.buckets
    power = min(MAX_BUCKETS, max(2, 2 * context // config.chunk)).bit_length() - 1
    return (2**power,) if power < 8 else (2 ** (power // 2), 2 ** (power - power // 2))


@torch.no_grad()
def hash_vectors(vectors: Tensor, rotations: Tensor, factors: tuple[int, ...]) -> Tensor:
    """The hash bucket of each vector (batch, heads, time, head width) in each round -> (batch, heads, rounds, time).

    Angular LSH: the index of the largest of the rotated coordinates and their negatives (Andoni et al. 2015)."""
    rotated = torch.einsum("bhtw,hwrn->bhrtn", vectors, rotations.to(vectors.dtype))
    buckets, product = torch.zeros(rotated.shape[:-1], dtype=torch.long, device=vectors.device), 1
    for count, part in zip(factors, rotated.split([count // 2 for count in factors], -1), strict=True):
        if count > 1:
            buckets += product * torch.cat([part, -part], -1).argmax(-1)
            product *= count
    return buckets


@dataclass(frozen=True)
class SortedBuckets:
    """Tokens sorted by hash bucket and split into chunks."""

    order: Tensor  # (batch, heads, rounds, padded time): positions
    buckets: Tensor  # the same shape, sorted
    time: int
    chunk_size: int
    adjacent_counts: tuple[int, int]  # chunks before and after its own that each attends to
    config: LSH

    @classmethod
    def from_buckets(cls, buckets: Tensor, mask: AttentionMask, config: LSH) -> SortedBuckets:
        """Sort by bucket (batch, heads, rounds, time), then by position; padding comes last."""
        time = buckets.shape[-1]
        if config.across and time <= config.chunk:
            buckets = buckets[:, :, :1]  # one chunk holds all tokens: every round would give the same
        size = min(config.chunk, time)
        last = torch.iinfo(torch.int16).max
        buckets = buckets.masked_fill(~mask.keys.mask[:, None, None], last)
        sorted_buckets, order = F.pad(buckets, (0, -time % size), value=last).sort(dim=-1, stable=True)
        others = order.shape[-1] // size - 1
        adjacent = (min(config.before, others), min(config.after, others))
        return cls(order, sorted_buckets, time, size, adjacent, config)

    def sort(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, heads, rounds, chunks, size, width)."""
        gathered = _gather_rows(x, self.order.flatten(2).clamp(max=self.time - 1))
        return split_chunks(gathered.unflatten(2, self.order.shape[2:]), self.chunk_size, 3)

    def adjacent(self, x: Tensor) -> Tensor:
        """Chunks concatenated with adjacent ones: (batch, heads, rounds, chunks, size, …) -> (…, n × size, …)."""
        if not self.config.across:
            return adjacent_chunks(x, *self.adjacent_counts, 3)
        # chunks of successive rounds are adjacent too
        adjacent: Tensor = adjacent_chunks(x.flatten(2, 3), *self.adjacent_counts, 2).unflatten(2, x.shape[2:4])
        return adjacent

    def unsort(self, x: Tensor) -> Tensor:
        """x (batch, heads, rounds, chunks, size, width) -> (batch, heads, rounds, time, width)."""
        index = torch.arange(self.order.shape[-1], device=x.device).expand(self.order.shape)
        inverse = torch.empty_like(self.order).scatter_(-1, self.order, index)[..., : self.time]
        return _gather_rows(x.flatten(3, 4), inverse)

    def visible(self, mask: AttentionMask) -> Tensor:
        """Which adjacent keys each query attends to (batch, heads, rounds, chunks, size, n × size)."""
        shape, real = self.order.shape, self.order < self.time
        position = self.order.clamp(max=self.time - 1)

        def sort_field(field: Tensor) -> Tensor:
            field = field.expand(shape[0], self.time)[:, None, None].expand(*shape[:3], -1).gather(-1, position)
            return split_chunks(field, self.chunk_size, 3)

        info = mask.keys._replace(position=mask.keys.position.int()).map(sort_field)
        q = info.map(lambda field: field.flatten(0, 3))
        k = info.map(lambda field: self.adjacent(field).flatten(0, 3))
        visible: Tensor = mask.visible(q, k).unflatten(0, (*shape[:3], -1))
        return visible & self.adjacent(split_chunks(real, self.chunk_size, 3))[..., None, :] & self._same_bucket()

    def _same_bucket(self) -> Tensor:
        """Keys of the query's bucket, at most as far back in sorted order as the chunks before; or all adjacent."""
        buckets = split_chunks(self.buckets, self.chunk_size, 3)
        if self.config.across:
            return buckets.new_ones(1, dtype=torch.bool)
        (before, after), device = self.adjacent_counts, buckets.device
        index = torch.arange(-before * self.chunk_size, (after + 1) * self.chunk_size, device=device)
        difference = torch.arange(self.chunk_size, device=device)[:, None] - index  # (size, n × size)
        near = (difference <= self.config.before * self.config.chunk) & (
            difference >= -self.config.after * self.config.chunk
        )
        inside = adjacent_mask(buckets.shape[3], before, after, self.chunk_size, device)[
            :, None
        ]  # (chunks, 1, n × size)
        return (buckets[..., :, None] == self.adjacent(buckets)[..., None, :]) & near & inside


def chunk_weights(queries: Tensor, buckets: SortedBuckets, mask: AttentionMask, scale: float) -> tuple[Tensor, Tensor]:
    """Attention weights within chunks (batch, heads, rounds, chunks, size, n × size) and the logsumexp of their scores.

    The logsumexp is (…, size, 1). A query that attends to nothing has weights of 0."""
    queries = buckets.sort(queries)
    keys = F.rms_norm(queries, queries.shape[-1:], eps=1e-6) * scale
    scores = (queries @ buckets.adjacent(keys).transpose(-1, -2)).float()
    positions = split_chunks(buckets.order, buckets.chunk_size, 3)
    is_self = positions[..., :, None] == buckets.adjacent(positions)[..., None, :]
    visible = buckets.visible(mask)
    scores = scores.masked_fill(is_self, SELF_SCORE).masked_fill(~visible, MASKED_SCORE)
    weights = torch.softmax(scores, -1)
    top, at = scores.max(-1, keepdim=True)
    logsumexp = top - weights.gather(-1, at).log()  # the same as scores.logsumexp, and faster
    return weights.masked_fill(~visible, 0.0), logsumexp


def _gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """Rows of x (groups …, rows, width) by index (groups …, n) -> (groups …, n, width)."""
    first = torch.arange(math.prod(index.shape[:-1]), device=x.device) * x.shape[-2]
    rows = (index.flatten(0, -2) + first[:, None]).flatten()
    return x.reshape(-1, x.shape[-1]).index_select(0, rows).view(*index.shape, x.shape[-1])
