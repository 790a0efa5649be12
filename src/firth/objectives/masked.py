"""Predict hidden tokens from all others (Devlin et al. 2019)."""

from __future__ import annotations

from torch import nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.heads.pooled import PooledHead
from firth.objectives.driven import Driven
from firth.types import Batch, Encoded, State, Term


class Masked(nn.Module):
    """Surprise at the tokens that were chosen; and, if asked, whether the second segment goes on from the first."""

    yardstick = "tokens"
    may_look_ahead = True
    drifts = False

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        self.next = PooledHead(width, 2) if config.objective.next_sentence else None
        if self.next is not None and getattr(config.batching, "pairs", "none") != "next":
            do = "set batching.kind=framed and batching.pairs=next"
            raise FirthError("no pairs of segments to tell apart", where="objective.next_sentence", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        names = {"tokens": "text"} | ({"next": "next"} if self.next is not None else {})
        return {term: max(1.0, float(batch.targets[name].weight.sum())) for term, name in names.items()}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """A term for tokens and one for pairs, summed over the batch; nothing is carried on."""
        encoded, counts = system.encode(batch), self.counts(batch)
        found = [
            Term("tokens", system.head.loss(encoded.states, batch.targets["text"], system.table), counts["tokens"])
        ]
        if self.next is not None:
            found.append(self._pairs(encoded, batch, counts["next"]))
        return found, None

    def _pairs(self, encoded: Encoded, batch: Batch, count: float) -> Term:
        target = batch.targets["next"]  # (batch, time): weight 1 where a [CLS] stands
        asked = target.weight > 0
        scores = self.next(encoded.states[asked])
        return Term("next", F.cross_entropy(scores.float(), target.values[asked], reduction="sum"), count)
