"""The training loop: gradient accumulation, gradient clipping, learning-rate schedule, EMA of weights, mixed precision
(bf16), evaluation, early stopping, checkpoints; resumable at any instant, exactly.

Nothing here uses a running random state: each micro-batch seeds torch from (seed, step, micro-batch, rank), and batches
are functions of their cursor. So a checkpoint needs no random state, and a resumed run repeats the same random numbers.
"""

from __future__ import annotations

import gc
import math
import signal
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.config.schema import Train
from firth.datasets.collators.batches import next_cursor, prefetch_batches
from firth.datasets.collators.collator import Batches
from firth.errors import FirthError
from firth.models.build import System
from firth.runs import checkpoints
from firth.runs.checkpoints import Interrupted, catch_signals, halve_factor
from firth.runs.progress import Progress
from firth.runs.training_log import Log, read_log
from firth.training.checkpoint import (
    RESTORE,
    TrainerState,
    load_tensors,
    pack_state,
    save_model,
    tensor_bytes,
    unpack_state,
    unpack_tensors,
)
from firth.training.clock import Clock
from firth.training.device import Distributed
from firth.training.ema import ExponentialMovingAverage, is_ema_tensor
from firth.training.optimizer import Optimizer, reduce_on_plateau
from firth.training.parameter_groups import GradualUnfreezing, learning_rate_factors
from firth.training.partial_weights import SharedWeights, restore
from firth.types import Batch, Cursor, State, derive_seed


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation: the best weights are those of the lowest loss, unless a selection score is given."""

    loss: float
    metric: str
    value: float
    sample: str = ""  # a text that the model generates now
    selection_score: float | None = None  # lower is better
    batches: int | None = None  # of validation text

    @property
    def criterion(self) -> float:
        """What the best weights are selected by: lower is better."""
        return self.loss if self.selection_score is None else self.selection_score


@dataclass(frozen=True)
class TrainingTask:
    """Everything a training run needs."""

    system: System
    config: Train  # resolved
    clock: Clock
    batches: Batches
    evaluate: Callable[[], Evaluation]
    folder: Path
    metadata: Mapping[str, Any]  # of the weights file
    seed: int
    distributed: Distributed
    progress: Progress
    stages: int = 1  # of a length curriculum, the epochs of its batches; a time budget sets their ends
    shared: SharedWeights | None = None  # weights that another run has, and that are not saved with this one


def train(task: TrainingTask) -> TrainerState:
    """Train to the end, from the newest checkpoint if there is one. Raises Interrupted after a signal."""
    return Trainer(task).run()


class Trainer:
    """One training run."""

    def __init__(self, task: TrainingTask) -> None:
        self.task = task
        self.module = task.distributed.wrap(task.system)
        factors = learning_rate_factors(task.system, task.config.optimizer)
        self.optimizer = Optimizer(task.config.optimizer, task.system.named_parameters(), factors)
        self.ema = ExponentialMovingAverage(task.system, task.config.ema_decay) if task.config.ema_decay else None
        self.unfreezing = GradualUnfreezing(task.system, task.config.unfreeze)
        self.state = TrainerState()
        self.carried_state: State | None = None
        self._batches: Generator[Batch[np.ndarray]] | None = None
        self._stop_requested = False  # by the progress callback

    def run(self) -> TrainerState:
        """All steps that are left."""
        self.start()
        try:
            with catch_signals() as request:
                while not self.state.finished:
                    entry = self.step(request.signal_number)
                    if entry is None:
                        self._roll_back()
                        continue
                    self.report(entry)
                    self._after_step(int(entry["signal"]))
                (signals,) = self.task.distributed.all_reduce([request.signal_number])
                if signals:  # it came in the last step or evaluation: what follows training is not begun
                    raise Interrupted(request.signal_number or signal.SIGTERM, self.state.step, self.task.folder)
        finally:
            self.task.progress.stop()
            self.close()
        return self.state

    # --- a step -----------------------------------------------------------------------------------------------

    def step(self, signal_number: int) -> dict[str, float] | None:
        """One optimizer step; None if the loss or the gradient is not finite, and then nothing has changed."""
        began = time.perf_counter()
        fraction = self._agree(self.task.clock.begin_step(self.state.step))
        self._enter_stage(fraction)
        self._unfreeze(fraction)
        assert self._batches is not None  # since `start`
        micro_batches = [next(self._batches).to("cpu") for _ in range(self.task.config.gradient_accumulation)]
        counts = _sum_by_key(self.task.system.objective.counts(batch) for batch in micro_batches)
        carried, losses = self.carried_state, []
        self.optimizer.zero_grad()
        for index, batch in enumerate(micro_batches):
            last = index + 1 == len(micro_batches)
            sums, carried = self._forward_backward(batch, index, counts, carried, last=last)
            losses.append(sums)
        sums = _sum_by_key(losses)
        *totals, signals = self.task.distributed.all_reduce([*(sums[name] for name in counts), signal_number])
        signal_number = signal_number or (signal.SIGTERM if signals else 0)  # all processes stop together
        learning_rate = self._learning_rate(fraction)
        grad_norm = self.optimizer.step(learning_rate) if all(map(math.isfinite, totals)) else math.nan
        if not math.isfinite(grad_norm):
            return None
        self.carried_state = carried
        self.state.step += 1
        if self.ema is not None:
            self.ema.update(self.state.step)
        self.state.cursor = next_cursor(self.task.batches, micro_batches[-1].cursor)
        return {
            "loss": sum(total / count for total, count in zip(totals, counts.values(), strict=True)),
            "learning_rate": learning_rate,
            "grad_norm": grad_norm,
            "fraction": fraction,
            "tokens": sum(batch.token_count for batch in micro_batches),
            "seconds": time.perf_counter() - began,
            "signal": signal_number,
        }

    def _forward_backward(
        self, batch: Batch, index: int, counts: Mapping[str, float], carried: State | None, *, last: bool
    ) -> tuple[dict[str, float], State | None]:
        """Accumulate one micro-batch's gradients; each term is divided by its count over micro-batches and ranks."""
        task = self.task
        torch.manual_seed(derive_seed(task.seed, "step", self.state.step, index, task.distributed.rank))
        shard = task.distributed.shard(batch)
        with task.distributed.no_sync(self.module, last):
            with autocast(task.config):
                terms, state = self.module(shard, None if batch.reset_state else carried)
            # DDP averages gradients over processes: times the world size that is the sum
            loss = sum(term.weight * term.sum / counts[term.name] for term in terms) * task.distributed.world_size
            loss.backward()
        return {term.name: term.weight * float(term.sum.detach()) for term in terms}, state and state.detach()

    def _learning_rate(self, fraction: float) -> float:
        state, config = self.state, self.task.config
        factor = self.task.clock.learning_rate_factor(config.schedule, state.step, fraction)
        return config.optimizer.learning_rate * factor * state.plateau_factor * state.guard_factor

    def _agree(self, *values: float) -> Any:
        """What the main process's clock says, for all processes."""
        distributed = self.task.distributed
        if distributed.world_size > 1:
            values = tuple(distributed.all_reduce([float(value) * distributed.is_main_process for value in values]))
        return values[0] if len(values) == 1 else values

    def _enter_stage(self, fraction: float) -> None:
        """With a time budget, the next stage of a length curriculum begins when its part of the time does."""
        stage = min(int(fraction * self.task.stages), self.task.stages - 1)
        if self.task.clock.unit == "seconds" and self.task.stages > 1 and stage > self.state.cursor.epoch:
            self._move_to(Cursor(stage))

    def _unfreeze(self, fraction: float) -> None:
        """Gradual unfreezing. DDP decides what it waits for when it wraps the network, so it wraps it anew."""
        if self.unfreezing.update(fraction) and self.task.distributed.world_size > 1:
            del self.module
            gc.collect()  # its hooks on the parameters
            self.module = self.task.distributed.wrap(self.task.system)

    def _move_to(self, cursor: Cursor) -> None:
        if self._batches is not None:
            self._batches.close()
        self.state.cursor, self._batches = cursor, prefetch_batches(self.task.batches, cursor)

    # --- between steps ----------------------------------------------------------------------------------------

    def _after_step(self, signal_number: int) -> None:
        clock, step, patience = self.task.clock, self.state.step, self.task.config.patience
        last, evaluate, checkpoint = map(
            bool, self._agree(clock.is_over(step), clock.evaluation_due(step), clock.checkpoint_due(step))
        )
        due = last or signal_number or evaluate or checkpoint
        if due and not all(bool(tensor.isfinite().all()) for tensor in self.task.system.parameters()):
            self._roll_back()  # never save what the guard could not continue from
            return
        if last or evaluate:
            began = time.perf_counter()
            with self.ema.averaged_weights() if self.ema is not None else nullcontext():
                self._evaluate(last)
            clock.evaluation_done(time.perf_counter() - began)
            last = last or self._stop_requested or (patience > 0 and self.state.bad_evaluations >= patience)
        self.state.finished = last
        if due or last:
            self._save()
        if signal_number and not last:
            raise Interrupted(signal_number, step, self.task.folder)

    def _evaluate(self, last: bool) -> None:
        """Evaluate on the validation data; save the weights if they are the best so far."""
        task, state = self.task, self.state
        task.system.eval()
        with torch.no_grad(), autocast(task.config):
            evaluation = task.evaluate()
        task.system.train()
        entry = {name: value for name, value in asdict(evaluation).items() if value is not None}
        entry |= {"last": True} if last else {}
        self._stop_requested = self._record({"split": "valid", **entry}, task.progress.evaluation) is True
        criterion = evaluation.criterion
        better = math.isfinite(criterion) and (state.best_loss is None or criterion < state.best_loss)
        if better:
            state.best_loss, state.best_step = criterion, state.step
            if task.distributed.is_main_process:
                # before the checkpoint: killed in between, the resumed run writes the same file again
                metadata = {**task.metadata, "step": state.step}
                save_model(task.folder / "model.safetensors", self._weights(), metadata)
        state.bad_evaluations = 0 if better else state.bad_evaluations + 1
        state.plateau_bad_evaluations = 0 if better else state.plateau_bad_evaluations + 1
        bad_evaluations = state.plateau_bad_evaluations
        factor = reduce_on_plateau(task.config.schedule, state.plateau_factor, bad_evaluations)
        if factor != state.plateau_factor:
            state.plateau_factor, state.plateau_bad_evaluations = factor, 0

    def report(self, entry: Mapping[str, float]) -> None:
        """Log a step and show it."""
        fields = {name: entry[name] for name in ("loss", "learning_rate", "grad_norm", "fraction", "tokens")}
        fields["tokens_per_second"] = entry["tokens"] / entry["seconds"]
        self._record(fields, self.task.progress.step)

    def _record(self, entry: Mapping[str, Any], show: Callable[[Mapping[str, Any]], Any]) -> Any:
        if not self.task.distributed.is_main_process:
            return None
        seconds = round(self._seconds_before + time.perf_counter() - self._began, 3)
        line = {"step": self.state.step, **entry, "seconds": seconds}
        self._log.add(line)
        return show(line)

    # --- checkpoints ------------------------------------------------------------------------------------------

    def _save(self) -> None:
        carried = self.task.distributed.gather(self.carried_state)
        if self.task.distributed.is_main_process:
            training = {**self.optimizer.state_dict(), **pack_state(carried)}
            training |= self.ema.state_dict() if self.ema is not None else {}
            checkpoints.save(
                self.task.folder,
                self.state.step,
                {
                    "weights.safetensors": tensor_bytes(self._weights()),
                    "training.safetensors": tensor_bytes(training),
                    "training.json": self.state.to_json(self.task.metadata["config"]),
                },
            )
        self.task.distributed.barrier()

    def start(self) -> None:
        """Restore the newest whole checkpoint, or save the initial state, for the guard to roll back to."""
        task = self.task
        checkpoint = checkpoints.newest_checkpoint(task.folder)
        if task.distributed.is_main_process:
            checkpoints.drop_after(task.folder, checkpoint)
        if checkpoint is not None:
            self._restore(checkpoint)
            task.clock.resume(self.state.step, read_log(task.folder / "log.jsonl"))
        self._began = time.perf_counter()
        if task.distributed.is_main_process:
            self._log = Log(task.folder / "log.jsonl", keep_to=self.state.step)
            self._seconds_before = self._log.seconds
            if self.state.finished:
                task.progress.say(f"finished at step {self.state.step}: nothing is left to train")
            elif self.state.step:
                task.progress.say(f"continuing from step {self.state.step}")
            task.progress.start(task.clock.total, task.clock.unit)
        if checkpoint is None:
            self._save()
        self._move_to(self.state.cursor)

    def _restore(self, checkpoint: Path) -> None:
        data = checkpoints.read(checkpoint, "training.json")
        self.state = TrainerState.from_json(data, self.task.metadata["config"], checkpoint / "training.json")
        weights = self._tensors(checkpoint, "weights.safetensors")
        if self.task.shared is not None:
            weights = restore(weights, self.task.system.state_dict())
        load_tensors(self.task.system, weights, checkpoint)
        training = self._tensors(checkpoint, "training.safetensors")
        own = {k: v for k, v in training.items() if not k.startswith("carried.") and not is_ema_tensor(k)}
        try:
            self.optimizer.load_state_dict(own)
            if self.ema is not None:
                self.ema.load_state_dict(training)
            carried = unpack_state(training)
        except (KeyError, ValueError, RuntimeError, TypeError, AttributeError):
            what = "the optimizer state does not fit config.json"
            raise FirthError(what, where=checkpoint / "training.safetensors", do=RESTORE) from None
        self.carried_state = self.task.distributed.scatter(carried)

    def _weights(self) -> dict[str, Tensor]:
        """The weights that are saved."""
        weights: dict[str, Tensor] = self.task.system.state_dict()
        return weights if self.task.shared is None else self.task.shared.remove(weights)

    def _tensors(self, checkpoint: Path, name: str) -> dict[str, Tensor]:
        return unpack_tensors(checkpoints.read(checkpoint, name), checkpoint / name)

    def _roll_back(self) -> None:
        """The guard against NaN: back to the last checkpoint, then on at half the learning rate."""
        task, failed = self.task, self.state.step + 1
        factor = halve_factor(self.state.guard_factor, failed)
        task.distributed.barrier()
        checkpoint = checkpoints.newest_checkpoint(task.folder)
        assert checkpoint is not None  # since `start`
        self._restore(checkpoint)
        self.state = replace(self.state, guard_factor=factor)
        self._move_to(self.state.cursor)
        if task.distributed.is_main_process:
            self._log.drop_after(self.state.step)
            back = f"back to step {self.state.step}, on at {factor:g} of the learning rate"
            text = f"step {failed}: the loss is not a number; {back}"
            self._record({"guard_factor": factor, "failed_step": failed}, lambda _: task.progress.say(text))

    def close(self) -> None:
        """Stop prefetching batches; close the log."""
        if self._batches is not None:
            self._batches.close()
        if self.task.distributed.is_main_process:
            self._log.close()


def autocast(config: Train) -> torch.autocast:
    """Mixed precision: the configured precision of matrix products; weights and sums stay in float32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16")


def _sum_by_key(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Dictionaries of numbers, summed by key."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total
