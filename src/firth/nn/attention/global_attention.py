"""Global attention (Longformer; Beltagy et al. 2020): a few tokens attend to all tokens and are attended to by all."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.attention.mask import AttentionMask, TokenInfo
from firth.nn.linear import Linear
from firth.nn.positions.encodings import head_width


class GlobalTokens(NamedTuple):
    """The global attention tokens of each sequence, padded to the same number per sequence."""

    positions: Tensor  # (batch, global tokens)
    valid: Tensor  # (batch, global tokens): False = padding

    @classmethod
    def from_mask(cls, global_attention: Tensor) -> GlobalTokens:
        """From a mask (batch, time), True = global attention."""
        count = int(global_attention.sum(1).max())
        positions = torch.argsort(global_attention.int(), dim=1, descending=True, stable=True)[:, :count]
        return cls(positions, global_attention.gather(1, positions))

    def token_info(self, info: TokenInfo) -> TokenInfo:
        """Token information of the global tokens, gathered from that of all tokens."""
        return info.map(lambda field: field.gather(1, self.positions), info.position[self.positions])

    def gather(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> the vectors of the global tokens (batch, heads, global tokens, width)."""
        return x.gather(2, self._index(x))

    def scatter(self, x: Tensor, values: Tensor) -> Tensor:
        """x (batch, heads, time, width) with the vectors of the global tokens replaced by `values`."""
        values = torch.where(self.valid[:, None, :, None], values.to(x.dtype), self.gather(x))
        return x.scatter(2, self._index(x), values)

    def _index(self, x: Tensor) -> Tensor:
        return self.positions[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3])


def global_tokens(mask: AttentionMask) -> GlobalTokens | None:
    """The global attention tokens among the queries, or None; computed once for all layers."""
    if "global_tokens" not in mask.memo:
        global_attention = mask.queries.global_attention
        mask.memo["global_tokens"] = (
            GlobalTokens.from_mask(global_attention)
            if global_attention is not None and bool(global_attention.any())
            else None
        )
    tokens: GlobalTokens | None = mask.memo["global_tokens"]
    return tokens


def global_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    tokens: GlobalTokens,
    mask: AttentionMask,
    dropout: float,
    scale: float,
) -> Tensor:
    """Attention of the global tokens (batch, heads, global tokens, width) to all keys (batch, heads, time, width)."""
    visible = visible_to_global(tokens, mask)
    return F.scaled_dot_product_attention(queries, keys, values, visible, dropout, scale=scale)


def visible_to_global(tokens: GlobalTokens, mask: AttentionMask) -> Tensor:
    """Which keys the global tokens attend to (batch, 1, global tokens, keys)."""
    return mask.visible(tokens.token_info(mask.queries), mask.keys)[:, None]


class GlobalProjections(nn.Module):
    """Separate query, key and value projections by which global tokens attend to all tokens (Longformer)."""

    def __init__(self, config: Transformer):
        super().__init__()
        self.heads, self.head_width = config.heads, head_width(config)
        bias = config.bias and config.attention.bias
        self.qkv_proj = Linear(config.width, 3 * self.heads * self.head_width, bias=bias)

    def forward(self, x: Tensor, tokens: GlobalTokens) -> tuple[Tensor, Tensor, Tensor]:
        """x (batch, time, width) -> queries of global tokens, keys and values of all (batch, heads, …, head width)."""
        size, (weight, bias) = self.heads * self.head_width, (self.qkv_proj.weight, self.qkv_proj.bias)
        global_states = x.gather(1, tokens.positions[..., None].expand(-1, -1, x.shape[2]))
        queries = F.linear(global_states, weight[:size], None if bias is None else bias[:size])
        keys, values = F.linear(x, weight[size:], None if bias is None else bias[size:]).chunk(2, -1)
        return self._split_heads(queries), self._split_heads(keys), self._split_heads(values)

    def _split_heads(self, x: Tensor) -> Tensor:
        split: Tensor = x.unflatten(2, (self.heads, self.head_width))
        return split.transpose(1, 2)
