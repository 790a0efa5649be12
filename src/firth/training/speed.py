"""The speed of training from its log: warm-up, compilation and pauses for evaluation are not counted. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

SPEED_NOTE = (
    "Speed counts the tokens and the time of training steps only: no evaluations, checkpoints, or first steps "
    "slower than half the median (warm-up, compilation)."
)
_WARM = 0.5  # of the median speed


def warm_steps(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The logged steps with a speed, without the first ones as long as they are slow."""
    steps = [line for line in lines if line.get("tokens_per_second", 0.0) > 0]
    limit = _WARM * median(line["tokens_per_second"] for line in steps) if steps else 0.0
    first = next((index for index, line in enumerate(steps) if line["tokens_per_second"] >= limit), 0)
    return steps[first:]


def training_speed(lines: Iterable[Mapping[str, Any]]) -> float | None:
    """Tokens per second over the warm steps; None without any."""
    steps = warm_steps(lines)
    seconds = sum(line["tokens"] / line["tokens_per_second"] for line in steps)
    return sum(line["tokens"] for line in steps) / seconds if seconds else None
