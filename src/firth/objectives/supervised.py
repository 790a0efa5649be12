"""Supervised classification of a text, a pair of texts, or an image."""

from __future__ import annotations

from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.objective import Objective, SystemProtocol
from firth.objectives.requirements import require
from firth.types import Batch, State, Term, expect


class SupervisedObjective(Objective):
    """Cross-entropy of the labels; the target "label" holds class indices (batch,)."""

    metric = "accuracy"  # it has weight 0 in the loss

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        require(config, schema.ClassificationHead, schema.SentencePairs, schema.ImageRows)
        self.problem_type = expect(config.head, schema.ClassificationHead).problem_type

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        count = max(1.0, float(batch.targets["label"].weight.sum()))
        return {"labels": count, self.metric: count}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """Cross-entropy, and the number of labels predicted correctly, summed over the batch."""
        if self.problem_type != "single-label":
            what = f"a {self.problem_type} model can be used, but not trained"
            raise FirthError(what, where="head.problem_type", do="set head.problem_type=single-label")
        encoded, counts, target = system.encode(batch), self.counts(batch), batch.targets["label"]
        logits = system.head(encoded.states, encoded.mask).float()  # (batch, classes)
        loss = (F.cross_entropy(logits, target.values, reduction="none") * target.weight).sum()
        correct = ((logits.argmax(1) == target.values) * target.weight).sum()
        return [
            Term("labels", loss, counts["labels"]),
            Term(self.metric, correct, counts[self.metric], weight=0.0),
        ], None
