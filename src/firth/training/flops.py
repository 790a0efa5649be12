"""The cost of a model that is too large to be tried out: counted on the meta device, without any weights."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from firth.config import schema
from firth.datasets.collators.collator import Batches
from firth.models.build import System, build
from firth.training.optimizer import SLOTS
from firth.training.parameter_groups import count_trained
from firth.training.planner import StepTiming
from firth.types import Batch, Cursor, Sizes, Tokens, Words

# Multiplications and additions for a parameter and a token: 2 forward, and backward 2 for the gradient of its input and
# 2 for its own (Kaplan et al. 2020, section 2.1).
_FORWARD, _BACKWARD_INPUT, _BACKWARD_OWN = 2, 2, 2
_BYTES = 4  # of a float32
_MEMORY_FRACTION = 1 / 4  # of the free memory: larger weights are not allocated for an estimate
_TRIAL_SECONDS = 120.0  # steps that would be timed for longer than this are not
_TRIAL_STEPS = 15
_SIDE = 768  # of the matrices whose product is timed


def meta_system(config: schema.Neural, sizes: Sizes | int) -> System:
    """A system of tensors with shapes but without values, which take no memory."""
    with torch.device("meta"):
        return build(config, sizes)


def is_large(config: schema.Neural, system: System, batches: Batches) -> bool:
    """Whether steps of this model take too much memory, or too long, to be timed."""
    if _BYTES * _parameters(system) > _MEMORY_FRACTION * free_memory():
        return True
    return _TRIAL_STEPS * _step_flops(config, system, batches) / measure_flops(config.train) > _TRIAL_SECONDS


def estimate_timing(config: schema.Neural, system: System, batches: Batches, valid: Batches) -> StepTiming:
    """Seconds from FLOPs at the speed of a matrix product; memory of weights, gradients and optimizer state."""
    train, count = config.train, sum(1 for _ in valid.evaluation_batches())
    speed, tokens = measure_flops(train), _tokens(config, next(valid.evaluation_batches()))
    evaluation = _FORWARD * _parameters(system) * tokens * min(count, train.eval_batches or count) / speed
    state = 1 + len(SLOTS[train.optimizer.name])  # the gradient, and what the optimizer keeps
    memory = _BYTES * (_parameters(system) + count_trained(system) * state)
    return StepTiming(_step_flops(config, system, batches) / speed, evaluation, memory, from_flops=True)


def _step_flops(config: schema.Neural, system: System, batches: Batches) -> float:
    tokens = config.train.gradient_accumulation * _tokens(config, batches.batch(Cursor()))
    lowest = min(system.depth_of(name) for name, parameter in system.named_parameters() if parameter.requires_grad)
    above = sum(p.numel() for name, p in system.named_parameters() if system.depth_of(name) >= lowest)
    backward = _BACKWARD_INPUT * above + _BACKWARD_OWN * count_trained(system)
    return (_FORWARD * _parameters(system) + backward) * tokens


def _parameters(system: System) -> int:
    return sum(parameter.numel() for parameter in system.parameters())


def _tokens(config: schema.Neural, batch: Batch[np.ndarray]) -> float:
    """Positions that a parameter is applied to: those of a stream, on average; patches of images."""
    sizes = [
        stream.ids.size if isinstance(stream, Tokens | Words) else stream.batch_size * config.input_of(name).positions
        for name, stream in batch.streams.items()
    ]
    return sum(sizes) / len(sizes)


def measure_flops(config: schema.Train) -> float:
    """Floating-point operations a second of a matrix product on this machine, in the precision of the run."""
    matrix = torch.ones(_SIDE, _SIDE, dtype=torch.bfloat16 if config.precision == "bf16" else torch.float32)
    times = []
    for _ in range(6):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    return 2 * _SIDE**3 / statistics.median(times[1:])


def free_memory() -> int:
    """Bytes that can be allocated without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: all memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
