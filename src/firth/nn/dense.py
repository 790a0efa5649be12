"""Attention of every query with every key, in torch's fused kernel."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from firth.nn.patterns import View


def dense(
    queries: Tensor, keys: Tensor, values: Tensor, view: View, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Every query with every key; all are (batch, heads, time, head width)."""
    causal, mask = (view.causal and bias is None), None
    if not causal:
        mask = view.seen if view.causal else view.mask
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, causal, scale=scale)
