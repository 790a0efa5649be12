"""How far a training run is: counted in steps (exact on resume), or in wall time.

A time budget ends when the time is over, scores included. The learning-rate schedule and the stages of a length
curriculum follow the fraction of the time that has passed. What the clock decided is logged with each step, and a
resumed run takes the logged steps as they were before it follows the remaining time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from firth.config.schema import Schedule, Train
from firth.training.optimizer import learning_rate_factor, timed_learning_rate_factor

EVALUATIONS = 10  # in a run
MAX_EVALUATION = 0.1  # of the time that has passed
_CHECKPOINT_SECONDS = 60.0

_FIRST_GUESS = 0.1  # of a time budget is what the final scores take, until the first evaluation measures it …
_SAMPLE_TOKENS, _SAMPLE_DOCUMENTS = 300, 4  # … on so much at least, and later ones again …
_MEASURED = 0.01  # … in this part of the budget
_MAX_SCORING = 0.2  # of a time budget: if the final scores would take longer, they are those of a sample
_REPORT_SECONDS, _MAX_REPORT = 1.5, 0.1  # of samples and report


class Clock(Protocol):
    """Decides what is due after so many steps."""

    total: float
    unit: Literal["steps", "seconds"]  # of the total

    def resume(self, step: int, log: Iterable[Mapping[str, Any]]) -> None:
        """Go on after a checkpoint; the log of the interrupted run may have later steps."""

    def begin_step(self, step: int) -> float:
        """The fraction of the budget that is used before a step, 0 to 1; `step` is the number of finished ones."""

    def learning_rate_factor(self, schedule: Schedule, step: int, fraction: float) -> float:
        """The factor of the peak learning rate for that step."""

    def is_over(self, step: int) -> bool:
        """Whether no step is left."""

    def evaluation_due(self, step: int) -> bool:
        """Whether the weights are to be evaluated now."""

    def checkpoint_due(self, step: int) -> bool:
        """Whether a checkpoint is to be written now."""

    def evaluation_done(self, seconds: float) -> None:
        """An evaluation took so long."""


class StepClock:
    """A budget in steps: everything is a function of the step."""

    unit: Literal["steps", "seconds"] = "steps"

    def __init__(self, config: Train, steps: int) -> None:
        self.config, self.steps, self.total = config, steps, float(steps)

    def resume(self, step: int, log: Iterable[Mapping[str, Any]]) -> None:
        """Makes no difference."""

    def begin_step(self, step: int) -> float:
        """The fraction of the steps that are done."""
        return min(1.0, step / self.steps)

    def learning_rate_factor(self, schedule: Schedule, step: int, fraction: float) -> float:
        """The schedule over all steps."""
        return learning_rate_factor(schedule, step, self.steps)

    def is_over(self, step: int) -> bool:
        """Whether all steps are done."""
        return step >= self.steps

    def evaluation_due(self, step: int) -> bool:
        """Every so many steps."""
        return step % self.config.evaluate_every == 0

    def checkpoint_due(self, step: int) -> bool:
        """Every so many steps."""
        return step % self.config.checkpoint_every == 0

    def evaluation_done(self, seconds: float) -> None:
        """Makes no difference."""


class TimeClock:
    """A budget in seconds, the last of which are reserved for the final scores."""

    unit: Literal["steps", "seconds"] = "seconds"

    def __init__(
        self,
        config: Train,
        seconds: float,
        reserve: Callable[[], float] = lambda: 0.0,  # seconds of the final scores, as far as is known
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config, self.total, self._reserve, self._now = config, seconds, reserve, now
        self._fractions: dict[int, float] = {}  # used before each logged step after the checkpoint: it is repeated
        self._evaluated: set[int] = set()  # the logged steps with an evaluation
        self._last_logged, self._ended_at, self._logged_seconds, self._repeating = 0, -1, 0.0, False
        self._began = self._saved = now()
        self._evaluation_seconds = self._last_evaluation = 0.0

    def resume(self, step: int, log: Iterable[Mapping[str, Any]]) -> None:
        """Go on after a checkpoint: repeat the steps that the log has after it, then use the time that is left."""
        for line in log:
            self._logged_seconds = max(self._logged_seconds, line["seconds"])
            if "fraction" in line:
                self._fractions[line["step"] - 1] = line["fraction"]
                self._last_logged = line["step"]
            if line.get("split") == "valid":
                self._evaluated.add(line["step"])
                self._ended_at = line["step"] if "last" in line else -1
                self._last_evaluation = self._fractions.get(line["step"] - 1, 0.0)
        self._began = self._now() - self._logged_seconds
        self._repeating = step < self._last_logged

    def begin_step(self, step: int) -> float:
        """The fraction of the time that has passed, or, of a step that is repeated, had passed then."""
        if self._repeating and step < self._last_logged:
            return self._fractions.get(step, 0.0)  # no line of the log, if that was damaged
        if self._repeating:  # repeated steps take no time of the budget
            self._repeating, self._began = False, self._now() - self._logged_seconds
        return self._fraction()

    def learning_rate_factor(self, schedule: Schedule, step: int, fraction: float) -> float:
        """The schedule over the time."""
        return timed_learning_rate_factor(schedule, step, fraction)

    def is_over(self, step: int) -> bool:
        """Whether the time is over."""
        return step >= self._last_logged and (step == self._ended_at or self._fraction() >= 1.0)

    def evaluation_due(self, step: int) -> bool:
        """Ten times in a run, in a tenth of the time at most; if so configured, after so many steps."""
        if step <= self._last_logged:
            return step in self._evaluated
        if self.config.evaluate_every:
            return step % self.config.evaluate_every == 0
        due = self._fraction() - self._last_evaluation >= 1 / EVALUATIONS
        return due and self._evaluation_seconds <= MAX_EVALUATION * self._elapsed()

    def checkpoint_due(self, step: int) -> bool:
        """Once a minute; if so configured, after so many steps."""
        if self.config.checkpoint_every:
            return step % self.config.checkpoint_every == 0
        if self._now() - self._saved < _CHECKPOINT_SECONDS:
            return False
        self._saved = self._now()
        return True

    def evaluation_done(self, seconds: float) -> None:
        """An evaluation took so long."""
        self._evaluation_seconds += seconds
        self._last_evaluation = self._fraction()

    def _elapsed(self) -> float:
        return self._logged_seconds if self._repeating else self._now() - self._began

    def _fraction(self) -> float:
        return min(1.0, self._elapsed() / max(1e-3, self.total - self._reserve()))


class Scorable(Protocol):
    """A model that can score a sample of a split."""

    sample_every: int  # one of so many documents is scored

    def evaluate(self, *, split: str) -> Any:
        """Score a split."""


@dataclass
class FinalScores:
    """How long scoring the test split will take after training, and of how much of it there is time for."""

    budget: float  # seconds
    tokens: int  # of the test split
    documents: int  # of it
    _measured: float | None = None  # seconds for the whole of it

    def update(self, model: Scorable) -> None:
        """Measure on a sample: a small one, then one that takes a hundredth of the budget."""
        if not self.tokens:
            return
        every = self._sparsest if self._measured is None else self._every(_MEASURED)
        model.sample_every = every
        began = time.perf_counter()
        model.evaluate(split="test")
        self._measured = every * (time.perf_counter() - began)
        model.sample_every = 1

    @property
    def _seconds(self) -> float:
        if not self.tokens:
            return 0.0
        return _FIRST_GUESS * self.budget if self._measured is None else self._measured

    def reserve(self) -> float:
        """The seconds that are kept for scores and report."""
        return min(self._seconds, _MAX_SCORING * self.budget) + min(_REPORT_SECONDS, _MAX_REPORT * self.budget)

    @property
    def sample_every(self) -> int:
        """Of so many documents one is scored, so that it takes no longer; 1: all."""
        return self._every(_MAX_SCORING)

    def _every(self, part: float) -> int:
        """The sample that takes this part of the budget, or the smallest that is worth it."""
        return max(1, min(math.ceil(self._seconds / (part * self.budget)), self._sparsest))

    @property
    def _sparsest(self) -> int:
        """The smallest sample: with too few documents some scores cannot be computed, such as those of text pairs."""
        return max(1, min(self.tokens // _SAMPLE_TOKENS, self.documents // _SAMPLE_DOCUMENTS))
