"""How the weighted means of attention are worked out: kernels that give the same numbers at different costs."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from firth.nn.banded import banded
from firth.nn.dense import dense

__all__ = ["KERNELS", "banded", "dense"]

# Each takes queries, keys and values (batch, heads, time, head width), the view, what is added to scores, the share of
# weights that are dropped, and the scale of the products.
KERNELS: dict[str, Callable[..., Tensor]] = {"dense": dense, "banded": banded}
