"""What a step costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepTiming:
    """Seconds per step and per evaluation of this model on this machine, and its memory."""

    seconds_per_step: float
    seconds_per_evaluation: float
    memory: int  # bytes: the peak of this process or, from FLOPs, without activations
    from_flops: bool = False  # computed, since the model is too large to time some steps
