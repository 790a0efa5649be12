"""Write a text for a text, a damaged one anew, or what it lacks (Sutskever et al. 2014; Lewis et al. 2020)."""

from __future__ import annotations

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.heads.copying import Looked
from firth.objectives.causal import Causal
from firth.objectives.driven import Driven
from firth.text.letters import PAD
from firth.types import Batch, Encoded, State, Term


class Written(Causal):
    """Surprise at each token that is written, given what was read and what was written before it.

    Label smoothing (Szegedy et al. 2016) and looking twice at the same tokens (See et al. 2017) are terms of their own,
    so that what is told of validation text is its surprise alone."""

    told = "target"

    def __init__(self, config: schema.Neural, width: int):
        super().__init__(config, width)
        if not isinstance(config.backbone, schema.EncoderDecoder):
            do = "set backbone.kind=encoder-decoder"
            raise FirthError("a network that reads one text and writes another has two parts", where="backbone", do=do)
        self.smoothing, self.coverage = config.objective.smoothing, config.objective.coverage
        self.spells = bool(config.head.letters)
        self.copies = isinstance(config.head, schema.CopyingHead)
        looks = isinstance(config.backbone.decoder, schema.Recurrent) and config.backbone.looks.score != "none"
        if (self.copies or self.coverage) and not looks:
            what = "this decoder does not tell where it looks, which copying and coverage need"
            do = "set backbone.decoder.kind=recurrent and a backbone.looks.score"
            raise FirthError(what, where="backbone.decoder", do=do)
        if self.copies and self.smoothing:
            do = "set objective.smoothing=0"
            raise FirthError("copied tokens have no share for all others", where="objective.smoothing", do=do)
        if self.copies and getattr(config.data, "vocabularies", "shared") == "separate":
            do = "set data.vocabularies=shared"
            raise FirthError("tokens can be copied only into their own vocabulary", where="data.vocabularies", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by: the tokens that are written."""
        count = float(batch.targets[self.told].weight.sum())
        asked = {"tokens": True, "smoothing": self.smoothing, "coverage": self.coverage}
        found = {name: count for name, wanted in asked.items() if wanted}
        if self.spells:
            found["letters"] = max(1.0, float(batch.targets["letters"].weight.sum()))
        return found

    def chances(self, system: Driven, batch: Batch) -> Tensor:
        """Log-probabilities of all tokens at each place of what is written (batch, time, vocabulary)."""
        encoded = system.encode(batch)
        return system.head.log_probabilities(encoded.states, system.table, *self._looked(encoded, batch))

    def _looked(self, encoded: Encoded, batch: Batch) -> tuple[Looked, ...]:
        """What a head that copies must know."""
        return (Looked(encoded.alignment, batch.streams["source"].ids),) if self.copies else ()

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """Surprise, and in training what is asked for beside it."""
        encoded, target = system.encode(batch, state), batch.targets[self.told]
        total = system.head.loss(encoded.states, target, system.table, *self._looked(encoded, batch))
        count = self.counts(batch)["tokens"]
        found = [Term("tokens", total, count)]
        if self.training and self.smoothing:
            above = system.head.above_mean(encoded.states, target, system.table)
            found.append(Term("smoothing", above, count, self.smoothing))
        if self.training and self.coverage:
            found.append(Term("coverage", _twice(encoded.alignment, target.weight), count, self.coverage))
        if self.spells:
            found.append(Term("letters", _spelling(system, encoded, batch), self.counts(batch)["letters"]))
        return found, None  # pairs stand alone: nothing is carried to the next batch


def _spelling(system: Driven, encoded: Encoded, batch: Batch) -> Tensor:
    """Surprise at the letters of words that the vocabulary lacks."""
    letters = batch.targets["letters"].values
    unknown = letters[..., 0] != PAD
    if not unknown.any():  # all parts of the network take part in every batch, as several processes want it
        return sum(parameter.sum() for parameter in system.head.letters.parameters()) * 0.0
    return system.head.letters(encoded.states[unknown], letters[unknown])


def _twice(weights: Tensor, told: Tensor) -> Tensor:
    """How much of each look (batch, time, source) goes to what was looked at before."""
    before = weights.cumsum(1) - weights
    return (weights.minimum(before).sum(-1) * told).sum()
