"""The type that products are worked out in."""

from __future__ import annotations

import torch
from torch import Tensor


def product_type(x: Tensor) -> torch.dtype:
    """That of autocast where it is on, else that of the numbers themselves."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
