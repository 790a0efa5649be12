"""Token embeddings, with segment embeddings and a character-level encoder of out-of-vocabulary words."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import TokenInput
from firth.nn.characters import CharacterEncoder
from firth.tokenizers.characters import PAD
from firth.types import Stream, Tokens, expect


class TokenEmbedding(nn.Module):
    """An embedding for each token. Its `weight` (vocabulary, width) may be tied to the output layer."""

    width_setting = "width"  # of the embeddings, in the configuration

    depth = 0  # layers

    def __init__(self, config: TokenInput, vocabulary: int, width: int):
        super().__init__()
        self.dropout = config.dropout

        def embedding(count: int) -> nn.Parameter:
            values = torch.empty(count, width).uniform_(-config.init_range, config.init_range)
            return nn.Parameter(values, requires_grad=not config.frozen)

        self.weight = embedding(vocabulary)
        self.segments = embedding(config.segments) if config.segments else None
        self.character_encoder = CharacterEncoder(config.character_width, width) if config.character_width else None

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to: there is none."""
        return 0

    def backbone_inputs(self, stream: Stream) -> tuple[Tensor, Tokens]:
        """Embeddings and tokens, as a backbone takes them."""
        tokens = expect(stream, Tokens)
        return self(tokens), tokens

    def forward(self, tokens: Tokens) -> Tensor:
        """Tokens (batch, time) -> embeddings (batch, time, width)."""
        embeddings = F.embedding(tokens.ids, self.weight)
        if self.character_encoder is not None and tokens.characters is not None:
            unknown = tokens.characters[..., 0] != PAD
            if unknown.any():
                word_embeddings = self.character_encoder(tokens.characters[unknown]).to(embeddings.dtype)
                embeddings = embeddings.masked_scatter(unknown[..., None], word_embeddings)
            else:  # all parameters take part in every batch, as DDP needs
                embeddings = (
                    embeddings + sum(parameter.sum() for parameter in self.character_encoder.parameters()) * 0.0
                )
        if self.segments is not None:  # without segment ids, all tokens are of the first segment
            segment = torch.zeros_like(tokens.ids) if tokens.segment is None else tokens.segment
            # RoBERTa has one segment
            embeddings = embeddings + F.embedding(segment.clamp(max=len(self.segments) - 1), self.segments)
        return F.dropout(embeddings, self.dropout, self.training)
