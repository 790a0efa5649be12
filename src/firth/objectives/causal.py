"""Predict each token from those before it."""

from __future__ import annotations

from torch import nn

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.driven import Driven
from firth.types import Batch, State, Term


class Causal(nn.Module):
    """Surprise at the next token; the target that is `told` holds the next tokens (batch, time)."""

    yardstick = "tokens"  # the term that perplexity is made of
    may_look_ahead = False
    drifts = False  # whether its loss cannot be compared with an earlier one
    told = "text"

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        if isinstance(config.head, schema.CopyingHead) and not isinstance(config.objective, schema.Written):
            do = "set it to language"
            raise FirthError("there is no source to copy from", where="head.kind", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        return {"tokens": float(batch.targets[self.told].weight.sum())}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The one term, summed over the batch, and what is carried on."""
        encoded = system.encode(batch, state)
        total = system.head.loss(encoded.states, batch.targets[self.told], system.table)
        return [Term("tokens", total, self.counts(batch)["tokens"])], encoded.state
