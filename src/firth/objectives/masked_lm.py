"""Masked language modelling (BERT; Devlin et al. 2019), with or without next sentence prediction."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.objective import Objective, SystemProtocol
from firth.types import Batch, Encoded, State, Term, expect


class NextSentenceHead(nn.Module):
    """A pooler (dense layer with tanh) over the state of [CLS], then a logit for each class (Devlin et al. 2019)."""

    def __init__(self, width: int, classes: int, init_std: float = 0.02):
        super().__init__()
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)
        for layer in (self.pooler, self.classifier):
            nn.init.normal_(layer.weight, std=init_std)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Hidden states (…, width) -> logits (…, classes)."""
        logits: Tensor = self.classifier(self.pooler(states).tanh())
        return logits


class MaskedLMObjective(Objective):
    """Negative log-likelihood of the masked tokens; optionally next sentence prediction."""

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        predicts_next = expect(config.objective, schema.MaskedLM).next_sentence
        self.next_sentence = NextSentenceHead(width, 2) if predicts_next else None
        if self.next_sentence is not None and config.batching.pairs != "next-sentence":
            do = "set batching.kind=segment-pairs and batching.pairs=next-sentence"
            raise FirthError("next-sentence prediction needs segment pairs", where="objective.next_sentence", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        names = {"tokens": "text"} | ({"next": "next"} if self.next_sentence is not None else {})
        return {term: max(1.0, float(batch.targets[name].weight.sum())) for term, name in names.items()}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """A term for masked tokens and one for segment pairs, summed over the batch; no state is carried on."""
        encoded, counts = system.encode(batch), self.counts(batch)
        loss = system.lm_head.loss(encoded.states, batch.targets["text"], system.embedding_weight)
        terms = [Term("tokens", loss, counts["tokens"])]
        if self.next_sentence is not None:
            terms.append(_next_sentence_term(self.next_sentence, encoded, batch, counts["next"]))
        return terms, None


def _next_sentence_term(head: NextSentenceHead, encoded: Encoded, batch: Batch, count: float) -> Term:
    target = batch.targets["next"]  # (batch, time): weight 1 at [CLS]
    is_cls = target.weight > 0
    logits = head(encoded.states[is_cls])
    return Term("next", F.cross_entropy(logits.float(), target.values[is_cls], reduction="sum"), count)
