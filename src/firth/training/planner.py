"""Estimates of a run's time, memory and disk before it starts: from a few timed steps on a copy of the model, or from
FLOPs where it is too large for that."""

from __future__ import annotations

import copy
import math
import resource
import statistics
import time
from dataclasses import dataclass, replace

import torch

from firth.config.schema import Neural, Train
from firth.datasets.collators.batches import prefetch_batches
from firth.datasets.collators.collator import Batches
from firth.models.build import System
from firth.runs.progress import parse_budget
from firth.training.loop import autocast
from firth.training.optimizer import Optimizer
from firth.training.parameter_groups import count_trained
from firth.types import Cursor


@dataclass(frozen=True)
class StepTiming:
    """Seconds per step and per evaluation of this model on this machine, and its memory."""

    seconds_per_step: float
    seconds_per_evaluation: float
    memory: int  # bytes: the peak of this process or, from FLOPs, without activations
    from_flops: bool = False  # computed, since the model is too large to time some steps


_WARMUP_STEPS, _TIMED_STEPS = 3, 12
_CHECKPOINT_SECONDS = 60.0
_EVALUATIONS = 10


@dataclass(frozen=True)
class Plan:
    """The estimated size and cost of a run."""

    steps: int
    epochs: float
    seconds: float
    parameters: dict[str, int]  # of each part: input, backbone, head
    memory: int  # bytes
    disk: int  # bytes of the run folder
    from_flops: bool = False  # the time is computed, not measured, and the memory is without activations
    trained: int = 0  # parameters that are not frozen
    in_bf16: Plan | None = None  # the same in mixed precision, where this CPU has bf16 instructions


def measure_timing(system: System, config: Train, batches: Batches, valid: Batches) -> StepTiming:
    """Time some steps and evaluation batches on a copy; the system itself and the random state do not change."""
    with torch.random.fork_rng(devices=[]):
        trial = copy.deepcopy(system)
        step = _time_steps(trial, config, batches)
        evaluation = _time_evaluation(trial, config, valid)
    return StepTiming(step, evaluation, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _time_steps(trial: System, config: Train, batches: Batches) -> float:
    optimizer, times, carried = Optimizer(config.optimizer, trial.named_parameters()), [], None
    prefetched = prefetch_batches(batches, Cursor())
    for _ in range(_WARMUP_STEPS + _TIMED_STEPS):
        began = time.perf_counter()
        optimizer.zero_grad()
        for _ in range(config.gradient_accumulation):
            batch = next(prefetched)
            with autocast(config):
                terms, carried = trial(batch.to("cpu"), None if batch.reset_state else carried)
            sum(term.sum / term.count for term in terms).backward()
            carried = carried and carried.detach()
        optimizer.step(1e-9)
        times.append(time.perf_counter() - began)
    prefetched.close()
    return statistics.median(times[_WARMUP_STEPS:])


def _time_evaluation(trial: System, config: Train, valid: Batches) -> float:
    trial.eval()
    times, state = [], None
    with torch.no_grad(), autocast(config):
        for batch, _ in zip(valid.evaluation_batches(), range(6), strict=False):
            began = time.perf_counter()
            _, state = trial(batch.to("cpu"), None if batch.reset_state else state)
            times.append(time.perf_counter() - began)
    count = sum(1 for _ in valid.evaluation_batches())
    return statistics.median(times) * min(count, config.eval_batches or count)


def make_plan(config: Neural, system: System, batches: Batches, timing: StepTiming, text_bytes: int) -> Plan:
    """Estimate time, memory and disk of a run."""
    resolved = resolve(config.train, batches, timing)
    steps = int(parse_budget(resolved.budget).amount)
    seconds = (
        steps * timing.seconds_per_step + math.ceil(steps / resolved.evaluate_every) * timing.seconds_per_evaluation
    )
    parameters = {name: sum(p.numel() for p in part.parameters()) for name, part in system.named_children()}
    slots = Optimizer(resolved.optimizer, system.named_parameters()).slots
    trained = count_trained(system)
    weights = 4 * (trained if config.train.adapter.saved_alone else sum(parameters.values()))
    state = weights + 4 * trained * len(slots)
    return Plan(
        steps,
        steps / _steps_per_epoch(resolved, batches),
        seconds,
        {name: count for name, count in parameters.items() if count},
        timing.memory,
        weights + 3 * state + 2 * text_bytes,
        timing.from_flops,
        trained,
    )  # two checkpoints and one being written


def resolve(train: Train, batches: Batches, timing: StepTiming | None) -> Train:
    """The budget in steps and all intervals set, once: what depends on the clock must not change on resume."""
    epoch = _steps_per_epoch(train, batches)
    steps = _budget_steps(train, epoch, timing)
    evaluate_every = train.evaluate_every or max(1, min(math.ceil(epoch), math.ceil(steps / _EVALUATIONS)))
    checkpoint_every = train.checkpoint_every
    if not checkpoint_every:
        assert timing is not None  # the caller measures it where it is needed
        checkpoint_every = max(1, min(evaluate_every, round(_CHECKPOINT_SECONDS / timing.seconds_per_step)))
    return replace(
        train,
        budget=f"{steps} steps",
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
        threads=torch.get_num_threads(),
    )


def _steps_per_epoch(train: Train, batches: Batches) -> float:
    """Optimizer steps in an epoch."""
    return batches.count(0) / train.gradient_accumulation


def _budget_steps(train: Train, epoch: float, timing: StepTiming | None) -> int:
    """Steps of the training budget."""
    budget = parse_budget(train.budget)
    if budget.unit == "steps":
        return max(1, round(budget.amount))
    if budget.unit == "epochs":
        return max(1, round(budget.amount * epoch))
    assert timing is not None  # the caller measures it where it is needed
    per_step, reserved = timing.seconds_per_step, 0.0
    if train.evaluate_every:
        per_step += timing.seconds_per_evaluation / train.evaluate_every
    else:
        reserved = min(_EVALUATIONS * timing.seconds_per_evaluation, budget.amount / 2)
    return max(1, int((budget.amount - reserved) / per_step))
