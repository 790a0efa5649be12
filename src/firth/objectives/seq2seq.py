"""Sequence-to-sequence learning with teacher forcing (Sutskever et al. 2014), also of denoising (Lewis et al. 2020)."""

from __future__ import annotations

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.models.heads.lm_head import CopyDistribution
from firth.nn.characters import CharacterDecoder
from firth.objectives.causal_lm import CausalLMObjective
from firth.objectives.objective import SystemProtocol, text_of
from firth.tokenizers.characters import PAD
from firth.types import CHARACTERS, Batch, Encoded, State, Term, expect


class Seq2SeqObjective(CausalLMObjective):
    """Negative log-likelihood of each target token, given the source and the target tokens before it.

    Label smoothing (Szegedy et al. 2016) and the coverage loss (See et al. 2017) are terms of their own, so that
    evaluation reports the negative log-likelihood alone."""

    target_name = "target"

    def __init__(self, config: schema.Neural, width: int):
        super().__init__(config, width)
        if not isinstance(config.backbone, schema.EncoderDecoder):
            do = "set backbone.kind=encoder-decoder"
            raise FirthError("sequence-to-sequence learning needs an encoder-decoder", where="backbone", do=do)
        objective = expect(config.objective, schema.Seq2Seq)
        self.label_smoothing, self.coverage_weight = objective.label_smoothing, objective.coverage_weight
        self.predicts_characters = bool(expect(config.head, schema.LMHead).character_width)
        self.copies = config.head.copies
        has_attention = (
            isinstance(config.backbone.decoder, schema.Recurrent) and config.backbone.attention.score != "none"
        )
        if (self.copies or self.coverage_weight) and not has_attention:
            what = "copying and coverage need an RNN decoder with attention"
            do = "set backbone.decoder.kind=recurrent and a backbone.attention.score"
            raise FirthError(what, where="backbone.decoder", do=do)
        if self.copies and self.label_smoothing:
            do = "set objective.label_smoothing=0"
            what = "a pointer-generator head does not support label smoothing"
            raise FirthError(what, where="objective.label_smoothing", do=do)
        if self.copies and config.data.vocabularies == "separate":
            do = "set data.vocabularies=shared"
            raise FirthError("copying needs one vocabulary for source and target", where="data.vocabularies", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of target tokens (and of characters), by which each term is divided."""
        count = float(batch.targets[self.target_name].weight.sum())
        weights = {"tokens": True, "smoothing": self.label_smoothing, "coverage": self.coverage_weight}
        counts = {name: count for name, weight in weights.items() if weight}
        if self.predicts_characters:
            counts["characters"] = max(1.0, float(batch.targets[CHARACTERS].weight.sum()))
        return counts

    def log_probabilities(self, system: SystemProtocol, batch: Batch) -> Tensor:
        """Log-probabilities of all tokens at each target position (batch, time, vocabulary)."""
        encoded, head = system.encode(batch), system.lm_head
        return head.log_probabilities(encoded.states, system.embedding_weight, *self._copying(encoded, batch))

    def _copying(self, encoded: Encoded, batch: Batch) -> tuple[CopyDistribution, ...]:
        """The copy distribution, if the head is a pointer-generator."""
        if not self.copies:
            return ()
        return (CopyDistribution(expect(encoded.alignment, Tensor), text_of(batch, "source").ids),)

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The negative log-likelihood, and in training the terms that are added to it."""
        encoded, target = system.encode(batch, state), batch.targets[self.target_name]
        loss = system.lm_head.loss(encoded.states, target, system.embedding_weight, *self._copying(encoded, batch))
        counts = self.counts(batch)
        terms = [Term("tokens", loss, counts["tokens"])]
        if self.training and self.label_smoothing:
            smoothing = system.lm_head.smoothing_loss(encoded.states, target, system.embedding_weight)
            terms.append(Term("smoothing", smoothing, counts["tokens"], self.label_smoothing))
        if self.training and self.coverage_weight:
            coverage = _coverage_loss(expect(encoded.alignment, Tensor), target.weight)
            terms.append(Term("coverage", coverage, counts["tokens"], self.coverage_weight))
        if self.predicts_characters:
            terms.append(Term("characters", _character_loss(system, encoded, batch), counts["characters"]))
        return terms, None  # examples are independent: no state is carried to the next batch


def _character_loss(system: SystemProtocol, encoded: Encoded, batch: Batch) -> Tensor:
    """Negative log-likelihood of the characters of out-of-vocabulary target words."""
    characters, decoder = batch.targets[CHARACTERS].values, expect(system.lm_head.character_decoder, CharacterDecoder)
    unknown = characters[..., 0] != PAD
    if not unknown.any():  # all parameters take part in every batch, as DDP needs
        return sum((parameter.sum() for parameter in decoder.parameters()), encoded.states.new_zeros(())) * 0.0
    loss: Tensor = decoder(encoded.states[unknown], characters[unknown])
    return loss


def _coverage_loss(weights: Tensor, predicted: Tensor) -> Tensor:
    """The overlap of each step's attention (batch, time, source) with the coverage of the steps before it."""
    coverage = weights.cumsum(1) - weights
    return (weights.minimum(coverage).sum(-1) * predicted).sum()
