"""The rate at every step, as a function of the step."""

from __future__ import annotations

import math
from collections.abc import Callable

from firth.config.schema import Schedule

# Each takes how far the run is after warm-up (0 … 1), the step and the warm-up, and gives a share of the full rate.
_SHAPES: dict[str, Callable[[float, int, int], float]] = {
    "constant": lambda done, step, warmup: 1.0,
    "plateau": lambda done, step, warmup: 1.0,  # evaluations lower it: see `after_evaluation`
    "linear": lambda done, step, warmup: 1.0 - done,
    "cosine": lambda done, step, warmup: 0.5 * (1.0 + math.cos(math.pi * done)),
    "inverse-sqrt": lambda done, step, warmup: math.sqrt(max(warmup, 1) / max(step, warmup, 1)),
}
_ENDS_AT_FLOOR = ("linear", "cosine")


def share(config: Schedule, step: int, total: int) -> float:
    """Which share of the full rate the step after `step` finished ones takes."""
    if step < config.warmup:
        return (step + 1) / (config.warmup + 1)
    done = min(1.0, (step - config.warmup) / max(1, total - config.warmup))
    found = _SHAPES[config.shape](done, step, config.warmup)
    found = config.floor + (1.0 - config.floor) * found if config.shape in _ENDS_AT_FLOOR else found
    return found * _factor(config, step, total)


def _factor(config: Schedule, step: int, total: int) -> float:
    """What equal parts of the run have taken off the rate; they change where stages of rows do."""
    return config.factor ** sum(step >= total * part // config.parts for part in range(1, config.parts))


def after_evaluation(config: Schedule, scale: float, stale: int) -> float:
    """The plateau factor after an evaluation, given how many in a row brought no gain."""
    if config.shape != "plateau" or stale <= config.patience:
        return scale
    return max(scale * config.factor, config.floor)
