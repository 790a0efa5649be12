"""Sequences split into chunks of equal length, each of which attends to itself and to adjacent chunks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def split_chunks(x: Tensor, size: int, dim: int) -> Tensor:
    """Dimension `dim` split into (…, chunks, size, …), the last chunk padded with zeros."""
    dim = dim % x.dim()
    padding = -x.shape[dim] % size
    if padding:
        x = F.pad(x, (0, 0) * (x.dim() - 1 - dim) + (0, padding))
    chunks: Tensor = x.unflatten(dim, (-1, size))
    return chunks


def adjacent_chunks(x: Tensor, before: int, after: int, dim: int) -> Tensor:
    """Each chunk concatenated with its neighbours: dimension `dim` counts chunks, the next (size) becomes (n × size).

    Chunks wrap around at both ends; `adjacent_mask` is False for those that did."""
    if not before and not after:
        return x
    dim = dim % x.dim()
    return torch.cat([x.roll(-step, dim) for step in range(-before, after + 1)], dim + 1)


def adjacent_mask(chunks: int, before: int, after: int, size: int, device: torch.device | str) -> Tensor:
    """Which positions of `adjacent_chunks` did not wrap around from the other end (chunks, n × size)."""
    offsets = torch.arange(-before, after + 1, device=device)
    number = torch.arange(chunks, device=device)[:, None] + offsets
    return ((number >= 0) & (number < chunks)).repeat_interleave(size, 1)
