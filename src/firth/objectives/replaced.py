"""Tell which tokens a small network has put into the gaps of a text (ELECTRA; Clark et al. 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.companion import Companion
from firth.objectives.driven import Driven
from firth.types import Batch, State, Term, Tokens


def generator(config: schema.Neural) -> schema.Neural:
    """The small network: as deep, a share as wide, with a head that fills gaps."""
    large, share = config.backbone, config.objective.generator
    heads = max(1, round(share * large.heads))
    width = round(share * large.width / heads) * heads  # each head as wide as another
    inner = round(share * large.inner) if large.inner else 0
    small = replace(large, width=width, heads=heads, inner=inner)
    return replace(config, backbone=small, head=schema.LanguageHead(tied=True, transform=True))


class Replaced(nn.Module):
    """The small network's surprise at hidden tokens, and the large one's at which of its guesses are wrong."""

    yardstick = "tokens"
    may_look_ahead = True
    drifts = True  # the better the small network guesses, the greater the loss of the large one: the small one decides
    companion: Companion  # the small network

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        self.weight = config.objective.weight
        if not isinstance(config.backbone, schema.Transformer) or not isinstance(config.head, schema.DetectionHead):
            what = "tokens are told right from wrong by a Transformer with a head of kind detection"
            raise FirthError(what, where="objective", do="set backbone.kind=transformer and head.kind=detection")

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        hidden, read = batch.targets["text"].weight.sum(), batch.streams["text"].mask.sum()
        return {"tokens": max(1.0, float(hidden)), "replaced": max(1.0, float(read))}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """A term for the small network and one for the large one; nothing is carried on."""
        text, counts = batch.streams["text"], self.counts(batch)
        states = self.companion(system.input(text), text)
        filling = self.companion.head.loss(states, batch.targets["text"], system.table)
        guessed = self.guess(system, states, batch)
        scores = self.detect(system, guessed.tokens)[text.mask]
        telling = F.binary_cross_entropy_with_logits(scores.float(), guessed.wrong[text.mask].float(), reduction="sum")
        terms = [
            Term("tokens", filling, counts["tokens"]),
            Term("replaced", telling, counts["replaced"], self.weight),
        ]
        return terms, None

    @torch.no_grad()
    def guess(self, system: Driven, states: Tensor, batch: Batch) -> Guessed:
        """The text with the small network's guesses in its gaps, drawn without gradients; a right one is no change."""
        text, target = batch.streams["text"], batch.targets["text"]
        told = target.weight > 0
        chances = self.companion.head.log_probabilities(states[told], system.table).exp()
        # in training torch's own stream, which each step seeds; else the same guesses each time
        random = None if self.training else torch.Generator(chances.device).manual_seed(batch.at.index)
        ids = torch.where(told, target.values, text.ids)
        if len(chances):
            ids = ids.masked_scatter(told, torch.multinomial(chances, 1, generator=random).squeeze(-1))
        return Guessed(replace(text, ids=ids), told & (ids != target.values))

    def detect(self, system: Driven, tokens: Tokens) -> Tensor:
        """The large network's scores (batch, time): above 0 a token is more probably a wrong one."""
        return system.head(system.backbone(system.input(tokens), tokens).states)


class Guessed(NamedTuple):
    """A text whose gaps were filled, and where it is wrong."""

    tokens: Tokens
    wrong: Tensor  # (batch, time)
