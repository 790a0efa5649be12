"""Learning-rate schedules (warm-up, linear, cosine, inverse square root, plateau), as a function of the step."""

from __future__ import annotations

import math
from collections.abc import Callable

from firth.config.schema import Schedule

# Each takes the progress after warm-up (0 … 1), the step and the warm-up steps; returns a factor of the peak rate.
_SHAPES: dict[str, Callable[[float, int, int], float]] = {
    "constant": lambda progress, step, warmup: 1.0,
    "plateau": lambda progress, step, warmup: 1.0,  # evaluations lower it: see `reduce_on_plateau`
    "linear": lambda progress, step, warmup: 1.0 - progress,
    "cosine": lambda progress, step, warmup: 0.5 * (1.0 + math.cos(math.pi * progress)),
    "inverse-sqrt": lambda progress, step, warmup: math.sqrt(max(warmup, 1) / max(step, warmup, 1)),
}
_ENDS_AT_MINIMUM = ("linear", "cosine")


def learning_rate_factor(config: Schedule, step: int, total: int) -> float:
    """The factor of the peak learning rate for the step after `step` finished ones, of `total` steps."""
    if step < config.warmup_steps:
        return (step + 1) / (config.warmup_steps + 1)
    progress = min(1.0, (step - config.warmup_steps) / max(1, total - config.warmup_steps))
    factor = _SHAPES[config.shape](progress, step, config.warmup_steps)
    if config.shape in _ENDS_AT_MINIMUM:
        factor = config.min_ratio + (1.0 - config.min_ratio) * factor
    return factor * _step_decay(config, step, total)


def _step_decay(config: Schedule, step: int, total: int) -> float:
    """Step decay over equal stages of the run; they change where the stages of a length curriculum do."""
    stages = config.decay_stages
    return config.factor ** sum(step >= total * stage // stages for stage in range(1, stages))


def reduce_on_plateau(config: Schedule, factor: float, bad_evaluations: int) -> float:
    """The plateau factor after an evaluation, given how many in a row brought no improvement (patience)."""
    if config.shape != "plateau" or bad_evaluations <= config.patience:
        return factor
    return max(factor * config.factor, config.min_ratio)
