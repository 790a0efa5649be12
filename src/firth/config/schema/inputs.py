"""Inputs: how a batch becomes vectors (token embeddings, image patches)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from firth.config.core import bounded


@dataclass(frozen=True)
class TokenInput:
    """Token embeddings."""

    kind: ClassVar[str] = "tokens"
    positions: ClassVar[int] = 0  # as many as a row has
    width: int = bounded(0, least=0)  # embedding size; 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)
    init_range: float = bounded(0.1, least=0.0)  # initialised uniformly in ±init_range
    pretrained_vectors: str = ""  # a file or run of word vectors that initialises the words it has
    frozen: bool = False  # embeddings are not trained
    segments: int = bounded(0, least=0)  # segment (token type) embeddings; BERT: 2
    table_size: int = bounded(0, least=0)  # rows of the embedding table, if more than tokens (public checkpoints)
    # width of a character-level encoder for out-of-vocabulary words (Luong and Manning 2016); 0: none
    character_width: int = bounded(0, least=0)


@dataclass(frozen=True)
class PatchInput:
    """Image patch embeddings after a [CLS] vector (ViT; Dosovitskiy et al. 2021)."""

    kind: ClassVar[str] = "patches"
    pretrained_vectors: ClassVar[str] = ""  # what only tokens have
    table_size: ClassVar[int] = 0
    segments: ClassVar[int] = 0
    character_width: ClassVar[int] = 0
    image_size: int = bounded(32, least=1)  # pixels of a side
    patch_size: int = bounded(8, least=1)  # pixels of a patch's side
    channels: int = bounded(3, least=1)
    # pixels are 0 to 1, then normalised: minus mean, divided by std; one number or one for each channel
    mean: tuple[float, ...] = field(default=(0.5,), metadata={"least": 0.0, "most": 1.0})
    std: tuple[float, ...] = field(default=(0.5,), metadata={"above": 0.0, "most": 1.0})
    width: int = bounded(0, least=0)  # 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)
    init_std: float = bounded(0.02, least=0.0)

    @property
    def positions(self) -> int:
        """How many vectors an image has: [CLS], then one for each patch."""
        return 1 + (self.image_size // self.patch_size) ** 2


Input = TokenInput | PatchInput
