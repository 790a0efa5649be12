"""Supervised learning of labelled tasks: the head decides what is predicted and what it costs."""

from __future__ import annotations

from firth.config import schema
from firth.models.heads.task_head import METRIC, TaskHead, target_counts
from firth.objectives.objective import Objective, SystemProtocol
from firth.objectives.requirements import require_task
from firth.types import Batch, State, Term


class SupervisedObjective(Objective):
    """The loss of a task head over the targets of a batch."""

    metric = METRIC

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        require_task(config)

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        return target_counts(batch.targets)

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The terms of the head."""
        head = system.head
        assert isinstance(head, TaskHead)  # checked by `require_task`
        return head.loss(system.encode(batch), batch.targets), None
