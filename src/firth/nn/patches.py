"""Pictures as rows of vectors: one for each patch, after one that stands for the whole (Dosovitskiy et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import PatchInput
from firth.errors import FirthError
from firth.types import Pixels, Tokens


class Patches(nn.Module):
    """A picture's patches, row by row from the top left, each a product of its pixels with one matrix."""

    streams = ("image",)

    def __init__(self, config: PatchInput, vocabulary: int, width: int):
        super().__init__()
        if config.size % config.patch:
            what = f"pictures of {config.size} pixels cannot be cut into patches of {config.patch}"
            raise FirthError(what, where="input.patch", do="choose a number that divides input.size")
        for name in ("mean", "deviation"):
            count = len(getattr(config, name))
            if count not in (1, config.channels):
                what = f"{count} numbers for pictures of {config.channels} channels"
                raise FirthError(what, where=f"input.{name}", do="give one, or one for each channel")
        self.config, self.dropout = config, config.dropout
        self.product = nn.Linear(config.channels * config.patch**2, width)
        self.whole = nn.Parameter(torch.zeros(width))
        nn.init.trunc_normal_(self.product.weight, std=config.spread)
        nn.init.zeros_(self.product.bias)

    @property
    def places(self) -> int:
        """How many vectors a picture has."""
        return self.config.places

    def read(self, pixels: Pixels) -> tuple[Tensor, Tokens]:
        """Vectors (batch, places, width), and the places as a backbone takes them: all of them real."""
        vectors = self(pixels)
        real = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return vectors, Tokens(real.long(), real)

    def forward(self, pixels: Pixels) -> Tensor:
        """values (batch, channels, y, x) -> vectors (batch, places, width)."""
        config, found = self.config, pixels.values
        if found.shape[1:] != (config.channels, config.size, config.size):
            wanted = f"{config.channels} × {config.size} × {config.size}"
            raise FirthError(f"pictures of {' × '.join(map(str, found.shape[1:]))} numbers, not {wanted}")
        mean, deviation = (found.new_tensor(part)[:, None, None] for part in (config.mean, config.deviation))
        found = (found - mean) / deviation
        cut = F.unfold(found, config.patch, stride=config.patch).transpose(1, 2)  # (batch, patches, numbers)
        patches = self.product(cut)
        first = self.whole.expand(len(patches), 1, -1)
        return F.dropout(torch.cat([first, patches], 1), self.dropout, self.training)
