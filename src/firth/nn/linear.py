"""Matrix products of few rows, as in step-wise decoding, where reading the matrix is all the work."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FEW = 4  # rows up to which the order of the matrix in memory decides


class Turned:
    """A matrix the other way round, kept until its values change: a product of few rows reads it faster."""

    def __init__(self) -> None:
        self.kept: tuple[int, int, Tensor] | None = None

    def __call__(self, weight: Tensor) -> Tensor:
        """weight (out, in) -> the same values as (in, out)."""
        now = (weight.data_ptr(), weight._version)
        if self.kept is None or self.kept[:2] != now:
            self.kept = (*now, weight.detach().t().contiguous())
        return self.kept[2]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, turned: Turned) -> Tensor:
    """x weightᵀ + bias; x (…, in), weight (out, in)."""
    rows = x.numel() // x.shape[-1]
    if torch.is_grad_enabled() or rows > FEW or x.dtype != weight.dtype or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, weight, bias)
    flat = x.view(rows, x.shape[-1])
    found = torch.mm(flat, turned(weight)) if bias is None else torch.addmm(bias, flat, turned(weight))
    return found.view(*x.shape[:-1], -1)


class Linear(nn.Linear):
    """torch's layer, quicker where few rows are read without gradients."""

    def __init__(self, width: int, out: int, bias: bool = True):
        super().__init__(width, out, bias=bias)
        self.turned = Turned()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, in) -> (…, out)."""
        return linear(x, self.weight, self.bias, self.turned)
