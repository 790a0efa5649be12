"""Say the label of a text, of two, or of a picture."""

from __future__ import annotations

from torch import nn
from torch.nn import functional as F

from firth.config import schema
from firth.objectives.checks import require
from firth.objectives.driven import Driven
from firth.types import Batch, State, Term


class Supervised(nn.Module):
    """Surprise at the label; the target "label" holds the labels' numbers (batch,)."""

    yardstick = "right"  # how many labels are found; it weighs nothing in the loss
    may_look_ahead = True
    drifts = False

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        require(config, schema.ClassHead, schema.Joined, schema.Pictured)

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        count = max(1.0, float(batch.targets["label"].weight.sum()))
        return {"labels": count, self.yardstick: count}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """Surprise, and how often the most probable label is right, summed over the batch."""
        encoded, counts, target = system.encode(batch), self.counts(batch), batch.targets["label"]
        scores = system.head(encoded.states, encoded.mask).float()  # (batch, classes)
        surprise = (F.cross_entropy(scores, target.values, reduction="none") * target.weight).sum()
        right = ((scores.argmax(1) == target.values) * target.weight).sum()
        return [
            Term("labels", surprise, counts["labels"]),
            Term(self.yardstick, right, counts[self.yardstick], weight=0.0),
        ], None
