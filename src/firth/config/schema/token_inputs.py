"""The input of tokens: an embedding for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from firth.config.core import bounded


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
