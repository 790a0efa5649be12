"""Rows of different lengths without their padding: what is worked out for each token by itself skips it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

WORTH = 1 / 16  # the share of padding from which on it pays to leave it out


@dataclass(frozen=True)
class Ragged:
    """Which tokens of some rows are real."""

    real: Tensor  # (tokens,): their places, the rows one after the other
    rows: int
    time: int

    @classmethod
    def of(cls, mask: Tensor) -> Ragged | None:
        """From a mask (rows, time), True = real; None where there is hardly any padding."""
        real = mask.flatten().nonzero().squeeze(-1)
        return None if len(real) > (1 - WORTH) * mask.numel() else cls(real, *mask.shape)

    def packed(self, x: Tensor) -> Tensor:
        """(rows, time, width) -> (1, tokens, width)."""
        return x.flatten(0, 1).index_select(0, self.real)[None]

    def spread(self, x: Tensor) -> Tensor:
        """(1, tokens, width) -> (rows, time, width), 0 at padding."""
        empty = x.new_zeros(self.rows * self.time, x.shape[-1])
        return empty.index_copy(0, self.real, x[0]).view(self.rows, self.time, -1)
