"""Sliding-window attention (Longformer; Beltagy et al. 2020) in time and memory linear in sequence length, equal to
dense attention with a banded mask.

Positions of different residues modulo the dilation never attend to each other, so each residue class is a sequence of
its own. A sequence is split into blocks of queries; each block attends to the keys of its own positions, of a window on
either side, and of the global attention tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.nn.attention.dense import dense_attention
from firth.nn.attention.global_attention import GlobalTokens, global_attention, global_tokens
from firth.nn.attention.mask import AttentionMask

MAX_BLOCK = 128  # queries per block: larger blocks compute more masked scores, smaller ones copy more keys


class BandedBias(NamedTuple):
    """A bias of the scores that depends on query and distance alone, computed only where it is needed."""

    at: Callable[[Tensor], Tensor]  # distances (query minus key position) -> (batch, heads, queries, distances)
    dense: Callable[[], Tensor | None]  # () -> (batch, heads, queries, keys)


def dense_bias(bias: Tensor | BandedBias | None) -> Tensor | None:
    """The bias of all queries and keys."""
    return bias.dense() if isinstance(bias, BandedBias) else bias


def banded_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: AttentionMask,
    bias: Tensor | BandedBias | None,
    dropout: float,
    scale: float,
) -> Tensor:
    """Kernel of sliding-window attention (batch, heads, time, head width); dense where that costs little more."""
    time = keys.shape[2]
    tokens = global_tokens(mask)
    short = queries.shape[2] != time or time <= 2 * mask.window
    if short or isinstance(bias, Tensor) or (bias is not None and tokens is not None):
        return dense_attention(queries, keys, values, mask, dense_bias(bias), dropout, scale)
    outputs, first = [], 0
    for dilation, heads in groupby(mask.dilations or (1,) * queries.shape[1]):
        last = first + len(list(heads))
        q, k, v = (part[:, first:last] for part in (queries, keys, values))
        layout, visible = _layout(mask, dilation)
        attn_mask = visible if bias is None else layout.block_bias(bias, first, last).masked_fill(~visible, -torch.inf)
        outputs.append(_blockwise_attention(q, k, v, mask, layout, attn_mask, dropout, scale))
        first = last
    output = outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1)
    if tokens is None:
        return output
    return tokens.scatter(output, global_attention(tokens.gather(queries), keys, values, tokens, mask, dropout, scale))


def _blockwise_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: AttentionMask,
    layout: BlockLayout,
    attn_mask: Tensor,
    dropout: float,
    scale: float,
) -> Tensor:
    tokens = global_tokens(mask)
    q, k, v = layout.query_blocks(queries), layout.key_spans(keys), layout.key_spans(values)
    if tokens is not None:  # every query attends to them, in one softmax with the keys of its window
        k, v = (
            torch.cat([near, layout.repeat_per_block(tokens.gather(all_))], 4)
            for near, all_ in ((k, keys), (v, values))
        )
    output = F.scaled_dot_product_attention(q, k.flatten(0, 2), v.flatten(0, 2), attn_mask, dropout, scale=scale)
    return layout.merge_blocks(output)


class BlockLayout(NamedTuple):
    """How a sequence is split: into as many residue classes as the dilation, each into blocks of queries."""

    time: int
    dilation: int
    block_size: int
    before: int  # keys before the block that its queries may attend to, in its residue class
    after: int

    @property
    def span(self) -> int:
        """How many keys a block attends to."""
        return self.before + self.block_size + self.after

    @property
    def blocks(self) -> int:
        """How many blocks a residue class has."""
        return -(-self.time // (self.dilation * self.block_size))

    def split_residues(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, dilation, heads, positions of a class, width)."""
        padding = self.blocks * self.block_size * self.dilation - self.time
        x = F.pad(x, (0, 0, 0, padding)) if padding else x
        residues: Tensor = x.unflatten(2, (-1, self.dilation))
        return residues.permute(0, 3, 1, 2, 4)

    def query_blocks(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch × dilation × blocks, heads, block, width)."""
        blocks: Tensor = self.split_residues(x).unflatten(3, (self.blocks, self.block_size))
        return blocks.transpose(2, 3).flatten(0, 2)

    def key_spans(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, dilation, blocks, heads, span, width), a view without copying."""
        x = F.pad(self.split_residues(x), (0, 0, self.before, self.after))
        return x.unfold(3, self.span, self.block_size).permute(0, 1, 3, 2, 5, 4)

    def repeat_per_block(self, x: Tensor) -> Tensor:
        """x (batch, …) for each block of each class (batch, dilation, blocks, …)."""
        return x[:, None, None].expand(-1, self.dilation, self.blocks, *x.shape[1:])

    def merge_blocks(self, x: Tensor) -> Tensor:
        """The inverse of `query_blocks`: (batch, heads, time, width)."""
        # batch, heads, count, block, dilation, width
        x = x.unflatten(0, (-1, self.dilation, self.blocks)).permute(0, 3, 2, 4, 1, 5)
        return x.flatten(2, 4)[:, :, : self.time]

    def block_bias(self, bias: BandedBias, first: int, last: int) -> Tensor:
        """The bias of some heads for each block's queries and key span (batch × dilation × blocks, heads, block,
        span)."""
        # of keys in a class, the nearest-before last
        offsets = self.before - torch.arange(self.before + self.after + 1)
        scores = bias.at(offsets * self.dilation)[:, first:last]  # (batch, heads, time, offsets)
        scores = self.query_blocks(scores)
        # key j of the span of query i is at offset before + i - j
        place = torch.arange(self.span) - torch.arange(self.block_size)[:, None]
        place = place.clamp(0, self.before + self.after).to(scores.device)
        return scores.gather(3, place.expand(*scores.shape[:3], -1))

    def block_info(self, info: Tensor, *, spans: bool) -> Tensor:
        """A field of token information (batch, time) for each block's queries or key span (blocks, …)."""
        x = info.float()[:, None, :, None]  # exact: document ids are small
        blocks = self.key_spans(x).flatten(0, 2) if spans else self.query_blocks(x)
        return blocks[:, 0, :, 0].to(info.dtype)


def _layout(mask: AttentionMask, dilation: int) -> tuple[BlockLayout, Tensor]:
    """The block layout of a dilation, and which keys its queries attend to (blocks, 1, block, keys); memoised."""
    if ("banded", dilation) not in mask.memo:
        time, window = mask.keys.position.shape[0], mask.window
        block = min(MAX_BLOCK, -(-time // dilation))
        layout = BlockLayout(time, dilation, block, window, 0 if mask.effective.causal else window)
        mask.memo["banded", dilation] = layout, _visible(mask, layout)[:, None]
    memoised: tuple[BlockLayout, Tensor] = mask.memo["banded", dilation]
    return memoised


def _visible(mask: AttentionMask, layout: BlockLayout) -> Tensor:
    """Which keys of its span, and which global tokens, each query of a block attends to (blocks, block, keys)."""
    tokens, is_global = global_tokens(mask), mask.keys.global_attention
    # padded with False beyond the sequence
    real = torch.ones_like(mask.keys.mask) if is_global is None else ~is_global
    position = torch.arange(layout.span, device=real.device)
    own = position[layout.before : layout.before + layout.block_size]
    q = mask.queries.map(partial(layout.block_info, spans=False), own)
    k = mask.keys.map(partial(layout.block_info, spans=True), position)
    near = mask.visible(q._replace(global_attention=None), k) & layout.block_info(real, spans=True)[:, None]
    if tokens is None:
        return near
    return torch.cat([near, _global_visible(mask, layout, tokens)], 2)


def _global_visible(mask: AttentionMask, layout: BlockLayout, tokens: GlobalTokens) -> Tensor:
    """Which global tokens each query of a block attends to (blocks, block, global tokens)."""
    # (batch, time, global tokens)
    visible = mask.visible(mask.queries, tokens.token_info(mask.keys)) & tokens.valid[:, None]
    return layout.query_blocks(visible[:, None].float())[:, 0] > 0
