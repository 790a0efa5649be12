"""Find the text that belongs to a text among all of the batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.checks import require
from firth.objectives.driven import Driven
from firth.types import Batch, State, Term, Tokens


class Contrastive(nn.Module):
    """Cross-entropy over a batch's cosines (rows, rows), from left to right and from right to left."""

    yardstick = "right"  # how many texts find their own
    may_look_ahead = True
    drifts = False

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        require(config, schema.VectorHead, schema.Apart)
        self.temperature = config.objective.temperature
        if config.train.accumulate > 1:
            what = "texts are told from the others of their batch, so a batch cannot be made of micro-batches"
            raise FirthError(what, where="train.accumulate", do="set it to 1; batching.rows says how many are compared")
        if isinstance(config.data, schema.Text) and not _noisy(config):
            what = "without dropout a text read twice gives the same vector, and there is nothing to learn"
            raise FirthError(what, where="backbone.dropout", do="set it to 0.1, or give pairs of texts")

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        return {"pairs": float(batch.size), self.yardstick: float(batch.size)}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """Surprise in both directions, halved, and how many texts find their own, summed over the batch."""
        left, right = (self._vectors(system, batch.streams[name]) for name in ("left", "right"))
        cosines = left @ right.T  # (rows, rows)
        same = alike(batch.streams["left"]) | alike(batch.streams["right"])
        scores = (cosines / self.temperature).masked_fill(same, -torch.inf)
        own = torch.arange(len(scores), device=scores.device)
        both = [F.cross_entropy(part, own, reduction="sum") for part in (scores, scores.T)]
        found, counts = (scores.argmax(1) == own).float().sum(), self.counts(batch)
        return [
            Term("pairs", sum(both) / 2, counts["pairs"]),
            Term(self.yardstick, found, counts[self.yardstick], weight=0.0),
        ], None

    def _vectors(self, system: Driven, tokens: Tokens) -> Tensor:
        """Of length 1 (rows, width)."""
        encoded = system.encode(Batch({"text": tokens}, {}))
        return F.normalize(system.head(encoded.states, encoded.mask).float(), dim=-1)


def alike(tokens: Tokens) -> Tensor:
    """Which other rows have the very same text (rows, rows): they are not what a text must be told from."""
    ids = torch.where(tokens.mask, tokens.ids, -1)
    found = (ids[:, None] == ids[None]).all(-1)
    return found & ~torch.eye(len(found), dtype=torch.bool, device=found.device)


def _noisy(config: schema.Neural) -> bool:
    rates = (config.input.dropout, *(getattr(config.backbone, name, 0.0) for name in ("dropout", "attention_dropout")))
    return any(rates)
