"""What turns a batch into vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import TokenInput
from firth.nn.letters import LetterReader
from firth.text.letters import PAD
from firth.types import Tokens


class TokenEmbedding(nn.Module):
    """A vector per token. Its `weight` (vocabulary, width) may be the table of a tied head."""

    streams: tuple[str, ...] = ()  # that it reads: whichever the backbone asks for

    def __init__(self, config: TokenInput, vocabulary: int, width: int):
        super().__init__()
        self.dropout = config.dropout

        def table(rows: int) -> nn.Parameter:
            start = torch.empty(rows, width).uniform_(-config.spread, config.spread)
            return nn.Parameter(start, requires_grad=not config.frozen)

        self.weight = table(vocabulary)
        self.segments = table(config.segments) if config.segments else None
        self.letters = LetterReader(config.letters, width) if config.letters else None

    def read(self, tokens: Tokens) -> tuple[Tensor, Tokens]:
        """What a backbone takes: vectors, and the tokens they stand for."""
        return self(tokens), tokens

    def forward(self, tokens: Tokens) -> Tensor:
        """tokens (batch, time) -> vectors (batch, time, width)."""
        found = F.embedding(tokens.ids, self.weight)
        if self.letters is not None and tokens.letters is not None:
            spelled = tokens.letters[..., 0] != PAD
            if spelled.any():
                vectors = self.letters(tokens.letters[spelled]).to(found.dtype)
                found = found.masked_scatter(spelled[..., None], vectors)
            else:  # all parts of the network take part in every batch, as several processes want it
                found = found + sum(parameter.sum() for parameter in self.letters.parameters()) * 0.0
        if self.segments is not None:  # text that is no pair is all of the first kind
            kind = torch.zeros_like(tokens.ids) if tokens.segment is None else tokens.segment
            found = found + F.embedding(kind.clamp(max=len(self.segments) - 1), self.segments)  # RoBERTa has one kind
        return F.dropout(found, self.dropout, self.training)
