"""Attention of every query with every key."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.nn.patterns import View
from firth.nn.precision import product_type

# In bf16 torch's fused kernel takes longer than products written out, up to this many keys: both ways together five
# times as long with 64, more than twice with 256, a third more with 512. With 1,024 it is faster, as it is in float32.
FEW = 512


def dense(
    queries: Tensor, keys: Tensor, values: Tensor, view: View, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Every query with every key; all are (batch, heads, time, head width)."""
    if keys.shape[-2] <= FEW and product_type(queries) == torch.bfloat16:
        return by_products(queries, keys, values, view, bias, dropout, scale)
    causal, mask = (view.causal and bias is None), None
    if not causal:
        mask = view.seen if view.causal else view.mask
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, causal, scale=scale)


def by_products(
    queries: Tensor, keys: Tensor, values: Tensor, view: View, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """The same, product after product."""
    scores = (queries * scale) @ keys.transpose(-1, -2)  # (batch, heads, queries, keys)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    hidden = view.mask if not view.causal else view.seen
    if hidden is None:
        return F.dropout(torch.softmax(scores, -1), dropout) @ values
    found = F.dropout(torch.softmax(scores + _added(view, hidden, scores.dtype), -1), dropout) @ values
    return found if view.causal else found * _sees_any(view, hidden)


def _added(view: View, seen: Tensor, dtype: torch.dtype) -> Tensor:
    """What keeps from being seen, made once for all layers: so low a score that nothing is left of its weight."""
    if ("added", dtype) not in view.kept:
        none = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
        view.kept["added", dtype] = none.masked_fill_(~seen, torch.finfo(dtype).min)
    return view.kept["added", dtype]


def _sees_any(view: View, seen: Tensor) -> Tensor:
    """Whether a query sees anything (batch or 1, heads or 1, queries, 1): what sees nothing takes nothing."""
    if "any" not in view.kept:
        view.kept["any"] = seen.any(-1, keepdim=True)
    return view.kept["any"]
