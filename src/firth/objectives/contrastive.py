"""Contrastive learning with in-batch negatives (InfoNCE): retrieve the matching text among those of the batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.objective import Objective, SystemProtocol, text_of
from firth.objectives.requirements import require_task
from firth.types import Batch, State, Term, Tokens, expect


class ContrastiveObjective(Objective):
    """Cross-entropy over the cosine similarities of a batch (batch, batch), in both directions."""

    metric = "accuracy"  # of retrieving the matching text; it has weight 0 in the loss

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        require_task(config, schema.PoolingHead.kind)
        self.temperature = expect(config.objective, schema.Contrastive).temperature
        if config.train.gradient_accumulation > 1:
            what = "in-batch negatives need the whole batch at once, so gradients cannot be accumulated"
            raise FirthError(
                what,
                where="train.gradient_accumulation",
                do="set it to 1; batching.batch_size sets the number of negatives",
            )
        if isinstance(config.data, schema.Text) and not _has_dropout(config):
            what = "unsupervised SimCSE needs dropout: without it a text encoded twice gives the same vector"
            raise FirthError(what, where="backbone.dropout", do="set it to 0.1, or give pairs of texts")

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        return {"pairs": float(batch.size), self.metric: float(batch.size)}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """Cross-entropy, the mean of both directions, and the number of correct retrievals, summed over the batch."""
        left, right = (self._embed(system, text_of(batch, name)) for name in ("left", "right"))
        similarities = left @ right.T  # cosines (batch, batch)
        duplicate = duplicates(text_of(batch, "left")) | duplicates(text_of(batch, "right"))
        logits = (similarities / self.temperature).masked_fill(duplicate, -torch.inf)
        labels = torch.arange(len(logits), device=logits.device)
        losses = [F.cross_entropy(direction, labels, reduction="sum") for direction in (logits, logits.T)]
        correct, counts = (logits.argmax(1) == labels).float().sum(), self.counts(batch)
        return [
            Term("pairs", (losses[0] + losses[1]) / 2, counts["pairs"]),
            Term(self.metric, correct, counts[self.metric], weight=0.0),
        ], None

    def _embed(self, system: SystemProtocol, tokens: Tokens) -> Tensor:
        """Sentence embeddings of length 1 (batch, width)."""
        encoded = system.encode(Batch({"text": tokens}, {}))
        return F.normalize(system.head(encoded), dim=-1)


def duplicates(tokens: Tokens) -> Tensor:
    """Which other sequences of the batch are the same text (batch, batch): they are no negatives."""
    ids = torch.where(tokens.mask, tokens.ids, -1)
    same = (ids[:, None] == ids[None]).all(-1)
    return same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)


def _has_dropout(config: schema.Neural) -> bool:
    backbone = config.backbone
    assert not isinstance(backbone, schema.EncoderDecoder)  # refused before
    in_attention = isinstance(backbone, schema.Transformer) and backbone.attention.dropout
    return bool(config.input_of("text").dropout or backbone.dropout or in_attention)
