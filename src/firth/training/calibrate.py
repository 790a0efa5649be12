"""How long and how large a run will be, from a few steps on a copy of the model."""

from __future__ import annotations

import copy
import math
import resource
import statistics
import time
from dataclasses import dataclass, replace

import torch

from firth.build import System
from firth.config.schema import Neural, Train
from firth.data.batching import Batches
from firth.data.stream import stream
from firth.runs.budget import parse
from firth.training.loop import autocast
from firth.training.optim import Optim
from firth.types import Cursor

_WARM, _TIMED = 3, 12  # steps
_CHECKPOINT_SECONDS = 60.0
_EVALUATIONS = 10


@dataclass(frozen=True)
class Pace:
    """What a step and an evaluation of this model cost here."""

    step: float  # seconds
    evaluation: float  # seconds
    memory: int  # bytes of this process at its highest


@dataclass(frozen=True)
class Plan:
    """A run before it runs."""

    steps: int
    epochs: float
    seconds: float
    parameters: dict[str, int]
    memory: int
    disk: int
    in_bf16: Plan | None = None  # the same with products in bf16, where this CPU has instructions for it


def measure(system: System, config: Train, batches: Batches, valid: Batches) -> Pace:
    """Time some steps and evaluation batches on a copy; the system itself and the random state stay as they are."""
    with torch.random.fork_rng(devices=[]):
        trial = copy.deepcopy(system)
        step = _time_steps(trial, config, batches)
        evaluation = _time_evaluation(trial, config, valid)
    return Pace(step, evaluation, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _time_steps(trial: System, config: Train, batches: Batches) -> float:
    optimizer, times, carried = Optim(config.optimizer, trial.named_parameters()), [], None
    ahead = stream(batches, Cursor())
    for _ in range(_WARM + _TIMED):
        began = time.perf_counter()
        optimizer.clear()
        for _ in range(config.accumulate):
            batch = next(ahead)
            with autocast(config):
                terms, carried = trial(batch.to("cpu"), None if batch.fresh else carried)
            sum(term.sum / term.count for term in terms).backward()
            carried = carried and carried.detach()
        optimizer.step(1e-9)
        times.append(time.perf_counter() - began)
    ahead.close()
    return statistics.median(times[_WARM:])


def _time_evaluation(trial: System, config: Train, valid: Batches) -> float:
    trial.eval()
    times, state = [], None
    with torch.no_grad(), autocast(config):
        for batch, _ in zip(valid.once(), range(6), strict=False):
            began = time.perf_counter()
            _, state = trial(batch.to("cpu"), None if batch.fresh else state)
            times.append(time.perf_counter() - began)
    count = sum(1 for _ in valid.once())
    return statistics.median(times) * min(count, config.evaluate_batches or count)


def needed(config: Train) -> bool:
    """Whether anything is asked for in time, so that it takes a measurement to turn it into steps."""
    return parse(config.budget).unit == "seconds" or not config.save


def plan(config: Neural, system: System, batches: Batches, pace: Pace, text_bytes: int) -> Plan:
    """Foresee time, memory and disk of a run."""
    resolved = resolve(config.train, batches, pace)
    steps = int(parse(resolved.budget).amount)
    seconds = steps * pace.step + math.ceil(steps / resolved.evaluate) * pace.evaluation
    parameters = {name: sum(p.numel() for p in part.parameters()) for name, part in system.named_children()}
    weights = 4 * sum(parameters.values())
    state = weights * (1 + len(Optim(resolved.optimizer, system.named_parameters()).slots))
    return Plan(
        steps,
        steps / _epoch(resolved, batches),
        seconds,
        {name: count for name, count in parameters.items() if count},
        pace.memory,
        weights + 3 * state + 2 * text_bytes,
    )  # two checkpoints and one being written


def resolve(train: Train, batches: Batches, pace: Pace | None) -> Train:
    """The budget in steps and all intervals set, once: what is decided by the clock must not change on resume."""
    epoch = _epoch(train, batches)
    steps = _steps(train, epoch, pace)
    evaluate = train.evaluate or max(1, min(math.ceil(epoch), math.ceil(steps / _EVALUATIONS)))
    save = train.save or max(1, min(evaluate, round(_CHECKPOINT_SECONDS / pace.step)))
    return replace(train, budget=f"{steps} steps", evaluate=evaluate, save=save, threads=torch.get_num_threads())


def _epoch(train: Train, batches: Batches) -> float:
    """Steps in an epoch."""
    return batches.count(0) / train.accumulate


def _steps(train: Train, epoch: float, pace: Pace | None) -> int:
    budget = parse(train.budget)
    if budget.unit == "steps":
        return max(1, round(budget.amount))
    if budget.unit == "epochs":
        return max(1, round(budget.amount * epoch))
    per_step = pace.step + (pace.evaluation / train.evaluate if train.evaluate else 0.0)
    reserved = 0.0 if train.evaluate else min(_EVALUATIONS * pace.evaluation, budget.amount / 2)
    return max(1, int((budget.amount - reserved) / per_step))
