"""Rows cut into chunks of equal length, each of which looks at itself and at chunks beside it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def cut(x: Tensor, size: int, at: int) -> Tensor:
    """Dimension `at` in chunks (…, chunks, size, …), the last filled up with zeros."""
    at = at % x.dim()
    lacking = -x.shape[at] % size
    if lacking:
        x = F.pad(x, (0, 0) * (x.dim() - 1 - at) + (0, lacking))
    return x.unflatten(at, (-1, size))


def beside(x: Tensor, before: int, after: int, at: int) -> Tensor:
    """Each chunk between those beside it: dimension `at` counts chunks, the next (size) becomes (n × size).

    Before the first comes the last, and after the last the first: `real` tells which of them are to be seen."""
    if not before and not after:
        return x
    at = at % x.dim()
    return torch.cat([x.roll(-step, at) for step in range(-before, after + 1)], at + 1)


def real(chunks: int, before: int, after: int, size: int, device: torch.device | str) -> Tensor:
    """Which of what `beside` gives are no chunks from the other end (chunks, n × size)."""
    steps = torch.arange(-before, after + 1, device=device)
    number = torch.arange(chunks, device=device)[:, None] + steps
    return ((number >= 0) & (number < chunks)).repeat_interleave(size, 1)
