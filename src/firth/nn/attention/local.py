"""Local self-attention of the Reformer (Kitaev et al. 2020): each chunk attends to itself and to adjacent chunks."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import Local, ReformerAttention, Transformer
from firth.nn.attention.chunks import adjacent_chunks, adjacent_mask, split_chunks
from firth.nn.attention.mask import AttentionMask
from firth.nn.attention.multi_head import AttentionContext, MultiHeadAttention, softmax_weights


class LocalAttention(MultiHeadAttention):
    """Multi-head attention within chunks; time and memory are linear in sequence length."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        assert isinstance(config.attention, ReformerAttention)
        self.local_config = config.attention.local
        self.kernel = partial(local_attention, config=self.local_config)

    def weights(self, x: Tensor, context: AttentionContext) -> Tensor:
        """Attention weights (batch, heads, queries, keys), computed without chunking."""
        queries, keys, _, _ = self.compute_qkv(x, context)
        chunk = context.mask.keys.position // self.local_config.chunk
        difference = chunk[:, None] - chunk
        near = (difference <= self.local_config.before) & (difference >= -self.local_config.after)
        return softmax_weights(queries * self.scale, keys, context.mask.boolean_mask & near, None)


def local_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: AttentionMask,
    bias: Tensor | None,
    dropout: float,
    scale: float,
    config: Local,
) -> Tensor:
    """Kernel of local attention: queries, keys and values of the same tokens (batch, heads, time, width), no bias."""
    batch, _, time, _ = queries.shape
    queries, keys, values = (split_chunks(x, config.chunk, 2) for x in (queries, keys, values))
    adjacent = _adjacent_counts(config, queries.shape[2])
    if (Local, config) not in mask.memo:
        mask.memo[Local, config] = _chunk_mask(mask, config, batch)
    # (batch, heads, chunks, chunk, head width) -> (batch × chunks, heads, chunk, head width), as the fused kernel wants
    qkv = (queries, adjacent_chunks(keys, *adjacent, 2), adjacent_chunks(values, *adjacent, 2))
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in qkv)
    output = F.scaled_dot_product_attention(q, k, v, mask.memo[Local, config], dropout, scale=scale)
    chunks: Tensor = output.unflatten(0, (batch, -1))
    return chunks.transpose(1, 2).flatten(2, 3)[:, :, :time]


def _adjacent_counts(config: Local, chunks: int) -> tuple[int, int]:
    """How many chunks before and after its own each chunk attends to, if there are `chunks` of them."""
    return min(config.before, chunks - 1), min(config.after, chunks - 1)


def _chunk_mask(mask: AttentionMask, config: Local, batch: int) -> Tensor:
    """Which keys of its own and adjacent chunks each query attends to (batch × chunks, 1, chunk, n × chunk)."""
    time = mask.keys.position.shape[-1]
    info = mask.keys.map(lambda field: split_chunks(field.expand(batch, time), config.chunk, 1))
    real = split_chunks(torch.ones(1, time, dtype=torch.bool, device=mask.keys.position.device), config.chunk, 1)
    chunks = real.shape[1]
    adjacent = _adjacent_counts(config, chunks)
    q = info.map(lambda field: field.flatten(0, 1))
    k = info.map(lambda field: adjacent_chunks(field, *adjacent, 1).flatten(0, 1))
    valid = adjacent_chunks(real, *adjacent, 1)[0] & adjacent_mask(chunks, *adjacent, config.chunk, real.device)
    return (mask.visible(q, k) & valid.repeat(batch, 1)[:, None])[:, None]
