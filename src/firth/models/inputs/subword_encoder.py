"""A pre-trained network as a part of another's input: states of words from those of their subwords (ELMo, BERT)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.inputs.token_embedding import TokenEmbedding
from firth.nn.scalar_mix import ScalarMix
from firth.nn.words import SUBWORD_POOLINGS
from firth.types import Tokens


class PretrainedEncoder(nn.Module):
    """Token embeddings and a backbone, frozen or not, a mix of the layers, and a state for each word."""

    def __init__(self, config: schema.SubwordEncoder, backbone: nn.Module):
        super().__init__()
        width, self.config = config.input_width, config
        self.embedding = TokenEmbedding(config.input, config.input.table_size, width)
        self.backbone = backbone
        # a Transformer projects embeddings of another width
        has_embeddings = isinstance(config.backbone, schema.Transformer) or width == config.width
        self.mix = ScalarMix(config.backbone.depth + has_embeddings) if config.layers == "mix" else None
        if config.frozen:
            self.embedding.requires_grad_(False)
            self.backbone.requires_grad_(False)
        self.train()

    def train(self, mode: bool = True) -> PretrainedEncoder:
        """A frozen network has no dropout in training either."""
        super().train(mode)
        if self.config.frozen:
            self.embedding.eval()
            self.backbone.eval()
        return self

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.config.backbone.depth

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1; 0 of the embeddings. The mix belongs to the
        last."""
        part, _, rest = name.partition(".")
        backbone: Any = self.backbone
        depths = {"embedding": 0, "backbone": backbone.depth_of(rest) if part == "backbone" else 0}
        return depths.get(part, self.depth)

    def forward(self, tokens: Tokens, words: int) -> Tensor:
        """The subwords of sentences of at most so many words -> states of the words (batch, words, width)."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.config.frozen):
            encoded = self.backbone(self.embedding(tokens), tokens, keep_layers=self.mix is not None)
        states = encoded.states
        if self.mix is not None:
            states = self.mix([layer for layer in encoded.layers if layer.shape[-1] == states.shape[-1]])
        assert tokens.word_of is not None
        pooled = SUBWORD_POOLINGS[self.config.subwords](states, tokens.word_of, words)
        return F.dropout(pooled, self.config.dropout, self.training)
