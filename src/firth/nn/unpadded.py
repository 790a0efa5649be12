"""Unpadding: batches without padding tokens, for layers that act on each token by itself."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

MIN_PADDING = 1 / 16  # the fraction of padding from which on removing it pays


@dataclass(frozen=True)
class Unpadded:
    """The indices of the real tokens of a padded batch."""

    indices: Tensor  # (tokens,): into the flattened (batch × time)
    batch_size: int
    time: int

    @classmethod
    def from_mask(cls, mask: Tensor) -> Unpadded | None:
        """From a mask (batch, time), True = real; None if there is hardly any padding."""
        indices = mask.flatten().nonzero().squeeze(-1)
        return None if len(indices) > (1 - MIN_PADDING) * mask.numel() else cls(indices, *mask.shape)

    def unpad(self, x: Tensor) -> Tensor:
        """(batch, time, width) -> (1, tokens, width)."""
        return x.flatten(0, 1).index_select(0, self.indices)[None]

    def pad(self, x: Tensor) -> Tensor:
        """(1, tokens, width) -> (batch, time, width), 0 at padding."""
        padded = x.new_zeros(self.batch_size * self.time, x.shape[-1])
        return padded.index_copy(0, self.indices, x[0]).view(self.batch_size, self.time, -1)
