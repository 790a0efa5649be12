"""Dense scaled dot-product attention: every query with every key."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.nn.attention.mask import AttentionMask
from firth.nn.linear import compute_dtype

# In bf16 torch's fused kernel is slower than eager matrix products up to this many keys: forward and backward together
# take 5 times as long with 64 keys, over twice with 256, a third more with 512. With 1,024 or in float32 it is faster.
MAX_EAGER_KEYS = 512


def dense_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: AttentionMask,
    bias: Tensor | None,
    dropout: float,
    scale: float,
) -> Tensor:
    """Scaled dot-product attention by torch's fused kernel; all tensors (batch, heads, time, head width)."""
    if keys.shape[-2] <= MAX_EAGER_KEYS and compute_dtype(queries) == torch.bfloat16:
        return eager_attention(queries, keys, values, mask, bias, dropout, scale)
    is_causal, attn_mask = (mask.is_causal and bias is None), None
    if not is_causal:
        attn_mask = mask.boolean_mask if mask.is_causal else mask.attn_mask
    if bias is not None:
        attn_mask = bias if attn_mask is None else bias.masked_fill(~attn_mask, float("-inf"))
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask, dropout, is_causal, scale=scale)


def eager_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: AttentionMask,
    bias: Tensor | None,
    dropout: float,
    scale: float,
) -> Tensor:
    """The same as explicit matrix products and softmax."""
    scores = (queries * scale) @ keys.transpose(-1, -2)  # (batch, heads, queries, keys)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    visible = mask.attn_mask if not mask.is_causal else mask.boolean_mask
    if visible is None:
        return F.dropout(torch.softmax(scores, -1), dropout) @ values
    output = F.dropout(torch.softmax(scores + _additive_mask(mask, visible, scores.dtype), -1), dropout) @ values
    return output if mask.is_causal else output * _any_visible(mask, visible)


def _additive_mask(mask: AttentionMask, visible: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where a key is visible, the lowest number of the type where it is masked; computed once for all layers."""
    if ("added", dtype) not in mask.memo:
        zeros = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
        mask.memo["added", dtype] = zeros.masked_fill_(~visible, torch.finfo(dtype).min)
    added: Tensor = mask.memo["added", dtype]
    return added


def _any_visible(mask: AttentionMask, visible: Tensor) -> Tensor:
    """Whether a query attends to any key (batch or 1, heads or 1, queries, 1); the output of one that does not is 0."""
    if "any" not in mask.memo:
        mask.memo["any"] = visible.any(-1, keepdim=True)
    any_visible: Tensor = mask.memo["any"]
    return any_visible
