"""Predict each token from those before it."""

from __future__ import annotations

from torch import Tensor

from firth.config import schema
from firth.heads.language import LanguageHead
from firth.types import Batch, Encoded, Term


class Causal:
    """Surprise at the next token; the target "text" holds the next tokens (batch, time)."""

    yardstick = "tokens"  # the term that perplexity is made of
    may_look_ahead = False

    def __init__(self, config: schema.Causal):
        self.config = config

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        return {"tokens": float(batch.targets["text"].weight.sum())}

    def terms(self, encoded: Encoded, batch: Batch, head: LanguageHead, table: Tensor | None) -> list[Term]:
        """The one term, summed over the batch."""
        total = head.loss(encoded.states, batch.targets["text"], table)
        return [Term("tokens", total, self.counts(batch)["tokens"])]
