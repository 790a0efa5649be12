"""Attention masks: which keys each query attends to.

A mask function answers `visible(q, k)` from positions and other token information (document, prefix, permutation rank,
global attention). `AttentionMask` decides from it whether fused attention needs an explicit mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config.schema import Transformer, WindowAttention
from firth.types import Tokens


class TokenInfo(NamedTuple):
    """What a mask function may depend on, for queries or for keys."""

    position: Tensor  # (time,) or (batch, time)
    mask: Tensor  # (batch, time): True = real token, False = padding
    document: Tensor | None = None  # (batch, time): document ids of packed sequences
    prefix: Tensor | None = None  # (batch, time): True = in the prefix, visible to all queries
    global_attention: Tensor | None = None  # (batch, time): True = global attention token
    rank: Tensor | None = None  # (batch, time): in the factorisation order (XLNet)

    def slice(self, first: int, last: int) -> TokenInfo:
        """The same for positions `first` to `last`."""
        return self.map(lambda field: field[..., first:last])

    def map(self, function: Callable[[Tensor], Tensor], position: Tensor | None = None) -> TokenInfo:
        """The same with `function` applied to each field; not to the positions, if others are given for them."""
        position = function(self.position) if position is None else position
        optional = (None if field is None else function(field) for field in self[2:])
        return TokenInfo(position, function(self.mask), *optional)


def distance(q: TokenInfo, k: TokenInfo) -> Tensor:
    """Query position minus key position (batch or 1, queries, keys)."""
    difference = q.position[..., :, None] - k.position[..., None, :]
    return difference if difference.dim() == 3 else difference[None]


def causal_mask(q: TokenInfo, k: TokenInfo) -> Tensor:
    """The query's own position and those before it."""
    return distance(q, k) >= 0


def bidirectional_mask(q: TokenInfo, k: TokenInfo) -> Tensor:
    """All keys except padding."""
    return k.mask[:, None, :]


def prefix_mask(q: TokenInfo, k: TokenInfo) -> Tensor:
    """Prefix LM: the whole prefix, and the positions up to the query's own (Raffel et al. 2020)."""
    return causal_mask(q, k) if k.prefix is None else (causal_mask(q, k) | k.prefix[:, None, :]) & k.mask[:, None, :]


def permutation_mask(q: TokenInfo, k: TokenInfo) -> Tensor:
    """Keys that come no later than the query in the factorisation order; all keys if no order is given (Yang et al.
    2019)."""
    if k.rank is None:
        return bidirectional_mask(q, k)
    assert q.rank is not None
    return (q.rank[:, :, None] >= k.rank[:, None, :]) & k.mask[:, None, :]


class MaskPattern(NamedTuple):
    """A mask function, and what other parts of a model must know of it."""

    visible: Callable[[TokenInfo, TokenInfo], Tensor]
    causal: bool = False  # no query attends to a later position
    complete: bool = False  # every query attends to all real tokens or, if causal, to all up to its own position
    needs: str = ""  # the field of TokenInfo it depends on; where a batch has none, `otherwise` is the pattern
    otherwise: str = ""
    query_stream: bool = False  # predicted by two-stream attention, since a token must not attend to itself


MASKS: dict[str, MaskPattern] = {
    "causal": MaskPattern(causal_mask, causal=True, complete=True),
    "bidirectional": MaskPattern(bidirectional_mask, complete=True),
    "prefix": MaskPattern(prefix_mask, needs="prefix", otherwise="causal"),
    "permutation": MaskPattern(permutation_mask, needs="rank", otherwise="bidirectional", query_stream=True),
}


def mask_pattern(config: Transformer) -> MaskPattern:
    """The configured pattern."""
    return MASKS[config.mask]


@dataclass(frozen=True)
class AttentionMask:
    """A mask function applied to given queries and keys, with sliding window, dilation and document boundaries."""

    pattern: MaskPattern
    queries: TokenInfo
    keys: TokenInfo
    window: int = 0  # keys on each side of the query; 0: no sliding window
    dilations: tuple[int, ...] = ()  # dilation of each head's window; empty: 1 in all heads
    memo: dict[Any, Any] = field(init=False, default_factory=dict, compare=False)  # computed once, used by all layers

    def visible(self, q: TokenInfo, k: TokenInfo, dilation: int = 1) -> Tensor:
        """Which of the keys each of the queries attends to (batch or 1, queries, keys)."""
        visible = self.pattern.visible(q, k)
        if self.window:
            visible = visible & self._in_window(q, k, dilation)
        if q.document is not None and k.document is not None:
            visible = visible & (q.document[:, :, None] == k.document[:, None, :])
        return visible

    def with_window(self, window: int, dilations: tuple[int, ...]) -> AttentionMask:
        """The same mask with a layer's window; layers with equal windows share one."""
        if (window, dilations) == (self.window, self.dilations):
            return self
        if (window, dilations) not in self.memo:
            self.memo[window, dilations] = replace(self, window=window, dilations=dilations)
        mask: AttentionMask = self.memo[window, dilations]
        return mask

    @cached_property
    def effective(self) -> MaskPattern:
        """The pattern, or the one that it amounts to where the batch lacks what it needs."""
        needs = self.pattern.needs
        return MASKS[self.pattern.otherwise] if needs and getattr(self.keys, needs) is None else self.pattern

    def _in_window(self, q: TokenInfo, k: TokenInfo, dilation: int) -> Tensor:
        offset = distance(q, k)
        near = offset.abs() <= self.window * dilation
        near = near if dilation == 1 else near & (offset % dilation == 0)
        if q.global_attention is None or k.global_attention is None:
            return near
        return near | q.global_attention[:, :, None] | k.global_attention[:, None, :]

    @cached_property
    def boolean_mask(self) -> Tensor:
        """True where a query attends to a key (batch or 1, heads or 1, queries, keys)."""
        if not self.dilations:
            return self.visible(self.queries, self.keys)[:, None]
        visible = {dilation: self.visible(self.queries, self.keys, dilation) for dilation in set(self.dilations)}
        return torch.stack([visible[dilation] for dilation in self.dilations], 1)

    @cached_property
    def is_causal(self) -> bool:
        """Whether `is_causal=True` of fused attention is this mask: padding is last, so no real token attends to it."""
        several = self.queries.position.shape == self.keys.position.shape != (1,)
        return several and self._complete_causal and not self._restricted(self.keys.position.shape[0])

    @cached_property
    def attn_mask(self) -> Tensor | None:
        """`boolean_mask`, or None where every query attends to every key."""
        queries, keys = self.queries.position.shape[-1], self.keys.position.shape[-1]
        everything = self._complete_causal and queries == 1 <= keys if self.effective.causal else self._all_visible
        if everything and not self._restricted(keys):
            return None
        return self.boolean_mask

    @property
    def _complete_causal(self) -> bool:
        return self.effective.causal and self.effective.complete

    @cached_property
    def _all_visible(self) -> bool:
        return self.effective.complete and bool(self.keys.mask.all())

    def _restricted(self, keys: int) -> bool:
        narrow = self.window and (self.window < keys - 1 or self.dilations)
        return bool(narrow) or self.queries.document is not None


def attention_mask(config: Transformer, tokens: Tokens, past: int = 0) -> AttentionMask:
    """The self-attention mask of these tokens, after `past` earlier ones (KV cache or segment memory)."""
    time, device = tokens.ids.shape[1], tokens.ids.device
    is_global = global_attention_tokens(config, tokens, past)
    queries = TokenInfo(
        torch.arange(past, past + time, device=device), tokens.mask, tokens.document, tokens.prefix, is_global
    )
    queries = queries._replace(rank=tokens.rank)
    keys = queries
    if past:
        past_mask = torch.ones(len(tokens.mask), past, dtype=torch.bool, device=device)
        position = torch.arange(past + time, device=device)
        keys = TokenInfo(position, torch.cat([past_mask, tokens.mask], 1))
        if is_global is not None:
            keys = keys._replace(global_attention=(position == 0).expand(len(tokens.mask), -1))
        if tokens.rank is not None:  # past tokens come first in the factorisation order
            keys = keys._replace(rank=F.pad(tokens.rank, (past, 0), value=-1))
        queries = queries._replace(document=None, prefix=None)
    return AttentionMask(mask_pattern(config), queries, keys)


def global_attention_tokens(config: Transformer, tokens: Tokens, past: int = 0) -> Tensor | None:
    """Which tokens have global attention (batch, time): those marked in `tokens`, and the first one if configured."""
    attention = config.attention
    if not isinstance(attention, WindowAttention) or attention.global_tokens == "none":
        return tokens.global_attention
    first = (position_ids(tokens, past) == 0) & tokens.mask  # [CLS] or [START]
    return first if tokens.global_attention is None else first | tokens.global_attention


class LayerWindow(NamedTuple):
    """The sliding window of a layer."""

    size: int = 0  # keys on each side; 0: no window
    dilations: tuple[int, ...] = ()  # of each head; empty: 1 in all heads
    scaled_to: int = 0  # in training, shorter sequences than this have proportionally smaller windows; 0: never

    @classmethod
    def of_layer(cls, config: Transformer, layer: int) -> LayerWindow:
        """As configured: sizes and dilations are given from the bottom layer up, the last for layers above it too."""
        attention = config.attention
        if not isinstance(attention, WindowAttention):
            return cls()
        size = attention.window[min(layer, len(attention.window) - 1)]
        dilation = attention.dilation[min(layer, len(attention.dilation) - 1)] if attention.dilation else 1
        dilated = attention.dilated_heads or config.heads
        dilations = () if dilation == 1 else (dilation,) * dilated + (1,) * (config.heads - dilated)
        return cls(size, dilations, config.context if attention.scale_window else 0)

    def at(self, time: int, training: bool) -> int:
        """The window's size for sequences of so many tokens (staged training; Beltagy et al. 2020)."""
        if not (self.scaled_to and training):
            return self.size
        return max(1, min(self.size, self.size * time // self.scaled_to))


def cross_attention_mask(target: Tokens, source_mask: Tensor) -> AttentionMask:
    """Every target token attends to all source tokens except padding; `source_mask` (batch, time)."""
    keys = TokenInfo(torch.arange(source_mask.shape[1], device=source_mask.device), source_mask)
    queries = TokenInfo(torch.arange(target.ids.shape[1], device=source_mask.device), target.mask)
    return AttentionMask(MASKS["bidirectional"], queries, keys)


def position_ids(tokens: Tokens, past: int) -> Tensor:
    """Positions of the tokens (time), or (batch, time) counted within each document of packed sequences."""
    position = torch.arange(past, past + tokens.ids.shape[1], device=tokens.ids.device)
    if tokens.document is None:
        return position
    starts = torch.ones_like(tokens.document, dtype=torch.bool)
    starts[:, 1:] = tokens.document[:, 1:] != tokens.document[:, :-1]
    return position - torch.where(starts, position, 0).cummax(1).values


MIN_PADDING = 1 / 16  # the fraction of padding from which on removing it pays


@dataclass(frozen=True)
class Unpadded:
    """The indices of the real tokens of a padded batch."""

    indices: Tensor  # (tokens,): into the flattened (batch × time)
    batch_size: int
    time: int

    @classmethod
    def from_mask(cls, mask: Tensor) -> Unpadded | None:
        """From a mask (batch, time), True = real; None if there is hardly any padding."""
        indices = mask.flatten().nonzero().squeeze(-1)
        return None if len(indices) > (1 - MIN_PADDING) * mask.numel() else cls(indices, *mask.shape)

    def unpad(self, x: Tensor) -> Tensor:
        """(batch, time, width) -> (1, tokens, width)."""
        return x.flatten(0, 1).index_select(0, self.indices)[None]

    def pad(self, x: Tensor) -> Tensor:
        """(1, tokens, width) -> (batch, time, width), 0 at padding."""
        padded = x.new_zeros(self.batch_size * self.time, x.shape[-1])
        return padded.index_copy(0, self.indices, x[0]).view(self.batch_size, self.time, -1)
