"""The training budget (90s, 2m, 500 steps, 13 epochs), and durations as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from firth.errors import FirthError

_MAX_AMOUNT = 1e12
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|steps?|epochs?)\s*")


@dataclass(frozen=True)
class Budget:
    """An amount of training."""

    amount: float
    unit: Literal["seconds", "steps", "epochs"]


def parse_budget(text: str) -> Budget:
    """Read `90s`, `2m`, `1.5h`, `500 steps` or `13 epochs`."""
    match = _PATTERN.fullmatch(text)
    if not match or not 0 < float(match[1]) < _MAX_AMOUNT:
        raise FirthError(f"train.budget = {text!r}: not a budget", do="write 90s, 2m, 1.5h, 500 steps or 13 epochs")
    amount, unit = float(match[1]), match[2]
    if unit in _SECONDS:
        return Budget(amount * _SECONDS[unit], "seconds")
    return Budget(amount, "steps" if unit.startswith("step") else "epochs")


def format_duration(seconds: float) -> str:
    """A duration as text in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
