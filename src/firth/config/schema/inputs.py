"""Inputs: how a stream of a batch becomes vectors (token embeddings, image patches)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from firth.config.core import bounded
from firth.config.schema.token_inputs import TokenInput
from firth.config.schema.word_inputs import WordInput
from firth.config.streams import Streams


@dataclass(frozen=True)
class PatchInput:
    """Image patch embeddings after a [CLS] vector (ViT; Dosovitskiy et al. 2021)."""

    kind: ClassVar[str] = "patches"
    takes: ClassVar[str] = "pixels"
    pretrained_vectors: ClassVar[str] = ""  # what only tokens have
    table_size: ClassVar[int] = 0
    segments: ClassVar[int] = 0
    character_width: ClassVar[int] = 0
    image_size: int = bounded(32, least=1)  # pixels of an image's side
    patch_size: int = bounded(8, least=1)  # pixels of a patch's side
    channels: int = bounded(3, least=1)  # 3: colour; 1: grey
    # pixels (0 to 1) are normalised: minus mean, divided by std; one number, or one for each channel
    mean: tuple[float, ...] = field(default=(0.5,), metadata={"least": 0.0, "most": 1.0})
    std: tuple[float, ...] = field(default=(0.5,), metadata={"above": 0.0, "most": 1.0})  # see `mean`
    width: int = bounded(0, least=0)  # embedding size; 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the embeddings
    init_std: float = bounded(0.02, least=0.0)  # standard deviation of the normal initialisation

    @property
    def positions(self) -> int:
        """How many vectors an image has: [CLS], then one for each patch."""
        return 1 + (self.image_size // self.patch_size) ** 2


Input = TokenInput | PatchInput | WordInput
Inputs = Streams[Input]  # stream -> input
