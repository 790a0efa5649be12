"""Replaced token detection (ELECTRA; Clark et al. 2020): a discriminator detects tokens replaced by a generator."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.companion import Companion
from firth.objectives.objective import Objective, SystemProtocol, text_of
from firth.types import Batch, State, Term, Tokens, expect


def generator_config(config: schema.Neural) -> schema.Neural:
    """The generator's configuration: as deep as the discriminator, a fraction of its width, with an LM head."""
    discriminator = expect(config.backbone, schema.Transformer)
    fraction = expect(config.objective, schema.ReplacedTokenDetection).generator_size
    heads = max(1, round(fraction * discriminator.heads))
    width = round(fraction * discriminator.width / heads) * heads  # divisible by the heads
    feedforward = replace(discriminator.feedforward, width=round(fraction * discriminator.feedforward.width))
    generator = replace(discriminator, width=width, heads=heads, feedforward=feedforward)
    return replace(config, backbone=generator, head=schema.LMHead(tied=True, transform=True))


class ReplacedTokenDetectionObjective(Objective):
    """The generator's masked language modelling loss, and the discriminator's binary cross-entropy."""

    nonstationary = True  # a better generator raises the discriminator's loss, so evaluation uses the generator's
    companion_config = staticmethod(generator_config)
    companion: Companion  # the generator

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        self.weight = expect(config.objective, schema.ReplacedTokenDetection).discriminator_weight
        if not isinstance(config.backbone, schema.Transformer) or not isinstance(config.head, schema.DiscriminatorHead):
            what = "replaced token detection needs a Transformer with a discriminator head"
            raise FirthError(what, where="objective", do="set backbone.kind=transformer and head.kind=discriminator")

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        masked, tokens = batch.targets["text"].weight.sum(), text_of(batch).mask.sum()
        return {"tokens": max(1.0, float(masked)), "replaced": max(1.0, float(tokens))}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """A term of the generator and one of the discriminator; no state is carried on."""
        text, counts = text_of(batch), self.counts(batch)
        states = self.companion(system.embed("text", text), text)
        generator_loss = self.companion.head.loss(states, batch.targets["text"], system.embedding_weight)
        corrupted = self.sample_replacements(system, states, batch)
        logits = self.detect(system, corrupted.tokens)[text.mask]
        labels = corrupted.replaced[text.mask].float()
        discriminator_loss = F.binary_cross_entropy_with_logits(logits.float(), labels, reduction="sum")
        terms = [
            Term("tokens", generator_loss, counts["tokens"]),
            Term("replaced", discriminator_loss, counts["replaced"], self.weight),
        ]
        return terms, None

    @torch.no_grad()
    def sample_replacements(self, system: SystemProtocol, states: Tensor, batch: Batch) -> Corrupted:
        """The text with masked tokens replaced by the generator's samples, without gradients; a correct one counts as
        original."""
        text, target = text_of(batch), batch.targets["text"]
        masked = target.weight > 0
        probabilities = self.companion.head.log_probabilities(states[masked], system.embedding_weight).exp()
        # in training torch's global generator, which each step seeds; else the same samples each time
        generator = None if self.training else torch.Generator(probabilities.device).manual_seed(batch.cursor.index)
        ids = torch.where(masked, target.values, text.ids)
        if len(probabilities):
            ids = ids.masked_scatter(masked, torch.multinomial(probabilities, 1, generator=generator).squeeze(-1))
        return Corrupted(replace(text, ids=ids), masked & (ids != target.values))

    def detect(self, system: SystemProtocol, tokens: Tokens) -> Tensor:
        """The discriminator's logits (batch, time): above 0 a token was more probably replaced."""
        logits: Tensor = system.head(system.backbone(system.embed("text", tokens), tokens).states)
        return logits


class Corrupted(NamedTuple):
    """A text with tokens replaced by the generator, and which tokens were replaced."""

    tokens: Tokens
    replaced: Tensor  # (batch, time)
