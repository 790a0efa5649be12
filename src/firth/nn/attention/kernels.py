"""Attention kernels: the same attention output at different cost."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from firth.nn.attention.dense import dense_attention
from firth.nn.attention.sliding_window import banded_attention

__all__ = ["KERNELS", "banded_attention", "dense_attention"]

# Each takes queries, keys and values (batch, heads, time, head width), the attention mask, the bias of the scores, the
# dropout probability of the attention weights, and the scale of the dot products.
KERNELS: dict[str, Callable[..., Tensor]] = {"dense": dense_attention, "banded": banded_attention}
