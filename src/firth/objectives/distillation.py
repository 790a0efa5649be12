"""Knowledge distillation of a masked language model from a larger teacher (DistilBERT; Sanh et al. 2019)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.objective import Objective, SystemProtocol, text_of
from firth.types import Batch, State, Term, expect


class Teacher:
    """A frozen trained system. It is no submodule of the student, so that it is neither trained nor saved with it."""

    def __init__(self, system: SystemProtocol):
        expect(system, nn.Module).eval().requires_grad_(False)
        self.system = system

    def __deepcopy__(self, memo: dict[int, Any]) -> Teacher:
        return self


class DistillationObjective(Objective):
    """Masked language modelling, soft-target and cosine losses: a term for each that has a weight."""

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        self.config = expect(config.objective, schema.Distillation)
        self.teacher: Teacher | None = None

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        masked, tokens = batch.targets["text"].weight.sum(), text_of(batch).mask.sum()
        counts = {"tokens": masked, "soft": tokens if self.config.distil_tokens == "all" else masked, "states": tokens}
        return {name: max(1.0, float(counts[name])) for name, weight in self._weights.items() if weight}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The terms, summed over the batch; no state is carried on."""
        student, target = system.encode(batch).states, batch.targets["text"]
        with torch.no_grad():
            teacher = self._teacher.encode(batch).states
        masked, tokens = target.weight > 0, text_of(batch).mask
        distilled = tokens if self.config.distil_tokens == "all" else masked
        losses = {
            "tokens": lambda: system.lm_head.loss(student, target, system.embedding_weight),
            "soft": lambda: self._soft_target_loss(system, student[distilled], teacher[distilled]),
            "states": lambda: (1 - F.cosine_similarity(student[tokens].float(), teacher[tokens].float(), -1)).sum(),
        }
        weights = self._weights
        return [Term(name, losses[name](), count, weights[name]) for name, count in self.counts(batch).items()], None

    def _soft_target_loss(self, system: SystemProtocol, student: Tensor, teacher: Tensor) -> Tensor:
        """KL(teacher ‖ student) of the distributions at a temperature, × temperature², summed (Hinton et al. 2015)."""
        temperature = self.config.temperature
        student_log_probabilities = F.log_softmax(
            system.lm_head.log_probabilities(student, system.embedding_weight) / temperature, -1
        )
        with torch.no_grad():
            teacher_log_probabilities = F.log_softmax(
                self._teacher.lm_head.log_probabilities(teacher, self._teacher.embedding_weight) / temperature, -1
            )
        return (
            F.kl_div(student_log_probabilities, teacher_log_probabilities, reduction="sum", log_target=True)
            * temperature**2
        )

    @property
    def _weights(self) -> dict[str, float]:
        config = self.config
        return {"tokens": config.mlm_weight, "soft": config.distillation_weight, "states": config.cosine_weight}

    @property
    def _teacher(self) -> SystemProtocol:
        if self.teacher is None:
            do = "name the run of a masked language model"
            raise FirthError("no teacher to distil from", where="objective.teacher", do=do)
        return self.teacher.system
