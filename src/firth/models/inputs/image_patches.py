"""Image patch embeddings of the Vision Transformer, after a [CLS] token (Dosovitskiy et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import PatchInput
from firth.errors import FirthError
from firth.types import Pixels, Stream, Tokens, expect


class PatchEmbedding(nn.Module):
    """Linear embeddings of an image's patches, row by row from the top left, after a learned [CLS] token."""

    depth = 0  # layers

    def __init__(self, config: PatchInput, vocabulary: int, width: int):
        super().__init__()
        if config.image_size % config.patch_size:
            what = f"images of {config.image_size} pixels cannot be split into patches of {config.patch_size}"
            raise FirthError(what, where="inputs.image.patch_size", do="choose a number that divides the image's side")
        for name in ("mean", "std"):
            count = len(getattr(config, name))
            if count not in (1, config.channels):
                what = f"{count} values for images of {config.channels} channels"
                raise FirthError(what, where=f"inputs.image.{name}", do="give one, or one for each channel")
        self.config, self.dropout = config, config.dropout
        self.projection = nn.Linear(config.channels * config.patch_size**2, width)
        self.cls_token = nn.Parameter(torch.zeros(width))
        nn.init.trunc_normal_(self.projection.weight, std=config.init_std)
        nn.init.zeros_(self.projection.bias)

    @property
    def positions(self) -> int:
        """The sequence length of an image: its patches and the [CLS] token."""
        return self.config.positions

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to: there is none."""
        return 0

    def backbone_inputs(self, stream: Stream) -> tuple[Tensor, Tokens]:
        """Embeddings (batch, positions, width), and tokens without padding for the backbone."""
        pixels = expect(stream, Pixels)
        vectors = self(pixels)
        mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return vectors, Tokens(mask.long(), mask)

    def forward(self, pixels: Pixels) -> Tensor:
        """Pixel values (batch, channels, y, x) -> embeddings (batch, positions, width)."""
        config, values = self.config, pixels.values
        if values.shape[1:] != (config.channels, config.image_size, config.image_size):
            expected = f"{config.channels} × {config.image_size} × {config.image_size}"
            raise FirthError(f"images of shape {' × '.join(map(str, values.shape[1:]))}, not {expected}")
        mean, std = (values.new_tensor(part)[:, None, None] for part in (config.mean, config.std))
        values = (values - mean) / std
        # (batch, patches, pixels)
        flattened = F.unfold(values, config.patch_size, stride=config.patch_size).transpose(1, 2)
        patches = self.projection(flattened)
        cls_token = self.cls_token.expand(len(patches), 1, -1)
        return F.dropout(torch.cat([cls_token, patches], 1), self.dropout, self.training)
