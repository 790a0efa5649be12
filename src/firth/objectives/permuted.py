"""Predict the last tokens of an order, each from all that come before it in the order (Yang et al. 2019)."""

from __future__ import annotations

from torch import nn

from firth.config import schema
from firth.errors import FirthError
from firth.nn.streams import Asked
from firth.objectives.driven import Driven
from firth.types import Batch, State, Target, Term, Tokens


class Permuted(nn.Module):
    """Surprise at the tokens that were chosen, by a second stream that sees only what their ranks allow."""

    yardstick = "tokens"
    may_look_ahead = True
    drifts = False

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        if getattr(config.backbone, "sees", "") != "permuted":
            what = "only a Transformer that sees by an order can predict by one"
            raise FirthError(what, where="objective", do="set backbone.sees=permuted and backbone.positions=xl")

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        return {"tokens": max(1.0, float(batch.targets["text"].weight.sum()))}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The one term, summed over the batch, and what is carried on."""
        text = batch.streams["text"]
        asked, told = select(text, batch.targets["text"])
        encoded = system.backbone.ask(system.input(text), text, asked, state)
        total = system.head.loss(encoded.states, told, system.table)
        return [Term("tokens", total, self.counts(batch)["tokens"])], encoded.state


def select(text: Tokens, target: Target) -> tuple[Asked, Target]:
    """The places of a batch that are asked, and what stands there; rows with fewer have others that weigh nothing."""
    told = target.weight > 0
    place = told.int().argsort(dim=1, descending=True, stable=True)[:, : int(told.sum(1).max())]
    document, segment = (None if mark is None else mark.gather(1, place) for mark in (text.document, text.segment))
    asked = Asked(place, text.rank.gather(1, place) - 1, document, segment)  # none sees itself
    return asked, Target(target.values.gather(1, place), target.weight.gather(1, place))
