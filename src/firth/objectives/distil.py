"""Predict hidden tokens as a larger network does, which is the teacher (DistilBERT; Sanh et al. 2019)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.driven import Driven
from firth.types import Batch, State, Term


class Teacher:
    """A trained system that is only asked: no part of the pupil, so that it is neither trained nor saved with it."""

    def __init__(self, system: Driven):
        self.system = system.eval().requires_grad_(False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Teacher:
        return self


class Distil(nn.Module):
    """Hidden tokens, the teacher's distributions and the direction of its states: a term for each that has a weight."""

    yardstick = "tokens"
    may_look_ahead = True
    drifts = False

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        self.config: schema.Distil = config.objective
        self.teacher: Teacher | None = None

    def counts(self, batch: Batch) -> dict[str, float]:
        """How much each term of the loss is to be divided by, known before the forward pass."""
        told, read = batch.targets["text"].weight.sum(), batch.streams["text"].mask.sum()
        found = {"tokens": told, "soft": read if self.config.told == "all" else told, "states": read}
        return {name: max(1.0, float(found[name])) for name, weight in self._weights.items() if weight}

    def terms(self, system: Driven, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The terms, summed over the batch; nothing is carried on."""
        pupil, target = system.encode(batch).states, batch.targets["text"]
        with torch.no_grad():
            teacher = self._teacher.encode(batch).states
        told, read = target.weight > 0, batch.streams["text"].mask
        followed = read if self.config.told == "all" else told
        found = {
            "tokens": lambda: system.head.loss(pupil, target, system.table),
            "soft": lambda: self._soft(system, pupil[followed], teacher[followed]),
            "states": lambda: (1 - F.cosine_similarity(pupil[read].float(), teacher[read].float(), -1)).sum(),
        }
        weights = self._weights
        return [Term(name, found[name](), count, weights[name]) for name, count in self.counts(batch).items()], None

    def _soft(self, system: Driven, pupil: Tensor, teacher: Tensor) -> Tensor:
        """KL(teacher ‖ pupil) of softened distributions × temperature², summed (Hinton et al. 2015)."""
        heat = self.config.temperature
        ours = F.log_softmax(system.head.log_probabilities(pupil, system.table) / heat, -1)
        with torch.no_grad():
            theirs = F.log_softmax(self._teacher.head.log_probabilities(teacher, self._teacher.table) / heat, -1)
        return F.kl_div(ours, theirs, reduction="sum", log_target=True) * heat**2

    @property
    def _weights(self) -> dict[str, float]:
        config = self.config
        return {"tokens": config.hard_weight, "soft": config.soft_weight, "states": config.state_weight}

    @property
    def _teacher(self) -> Driven:
        if self.teacher is None:
            raise FirthError("no teacher to follow", where="objective.teacher", do="name a run that fills gaps")
        return self.teacher.system
