"""Inputs: how a stream of a batch becomes vectors (token embeddings, image patches)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from firth.config.core import bounded
from firth.config.schema.word_inputs import WordInput
from firth.config.streams import Streams


@dataclass(frozen=True)
class TokenInput:
    """Token embeddings."""

    kind: ClassVar[str] = "tokens"
    takes: ClassVar[str] = "tokens"  # what the streams hold that it embeds
    positions: ClassVar[int] = 0  # as many as a row has
    width: int = bounded(0, least=0)  # embedding size; 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the embeddings
    init_range: float = bounded(0.1, least=0.0)  # initialised uniformly in ±init_range
    pretrained_vectors: str = ""  # a file or run of word vectors; the words it has are initialised with them
    frozen: bool = False  # embeddings are not trained
    segments: int = bounded(0, least=0)  # number of segment (token type) embeddings; BERT: 2
    table_size: int = bounded(0, least=0)  # rows of the embedding matrix, if more than tokens (public checkpoints)
    # width of a character-level encoder for out-of-vocabulary words (Luong and Manning 2016); 0: none
    character_width: int = bounded(0, least=0)


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
