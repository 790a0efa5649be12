"""The training loop: steps, evaluations, checkpoints; resumable at any instant, exactly.

Nothing here draws from a running random state: each micro-batch seeds torch from (seed, step, part, rank), and
batches are functions of their cursor. So a checkpoint needs no random state, and a resumed run repeats the draws.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from firth.config.schema import Train
from firth.data.batching import Batches
from firth.data.randomness import number
from firth.data.stream import following, stream
from firth.runs import checkpoints
from firth.runs.log import Log
from firth.runs.progress import Progress
from firth.training import schedule
from firth.training.averaging import Average, belongs
from firth.training.checkpoint import (
    Position,
    pack_state,
    read_tensors,
    save_model,
    tensor_bytes,
    unpack_state,
)
from firth.training.devices import Devices
from firth.training.guard import Interrupted, listening, next_factor
from firth.training.optim import Optim
from firth.types import Batch, State


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found: the loss decides (lower is better) unless a rank is given, the score is shown."""

    loss: float
    metric: str
    value: float
    sample: str = ""  # what the model would say now
    rank: float | None = None  # lower is better

    @property
    def decides(self) -> float:
        """What tells whether this is the best so far: lower is better."""
        return self.loss if self.rank is None else self.rank


@dataclass(frozen=True)
class Job:
    """Everything a training run is made of. The configuration is resolved: steps, not minutes."""

    system: nn.Module
    config: Train
    steps: int
    batches: Batches
    evaluate: Callable[[], Evaluation]
    folder: Path
    note: Mapping[str, Any]  # goes into the header of the weights
    seed: int
    devices: Devices
    progress: Progress


def train(job: Job) -> Position:
    """Run to the end, or from the newest checkpoint to the end. Raises Interrupted after a signal."""
    return Trainer(job).run()


class Trainer:
    """One training run under way."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.module = job.devices.wrap(job.system)
        self.optimizer = Optim(job.config.optimizer, job.system.named_parameters())
        self.average = Average(job.system, job.config.average) if job.config.average else None
        self.position = Position()
        self.carried: State | None = None
        self._batches: Iterator[Batch] | None = None
        self._asked_to_stop = False  # by whoever looks on

    def run(self) -> Position:
        """All steps that are left."""
        self.start()
        try:
            with listening() as wishes:
                while not self.position.finished:
                    entry = self.step(wishes.number)
                    if entry is None:
                        self._go_back()
                        continue
                    self.report(entry)
                    self._after_step(int(entry["wish"]))
        finally:
            self.job.progress.stop()
            self.close()
        return self.position

    # --- a step -----------------------------------------------------------------------------------------------

    def step(self, wish: int) -> dict[str, float] | None:
        """One optimizer step; None if it met a number that is not finite, and then nothing has changed."""
        began = time.perf_counter()
        parts = [next(self._batches) for _ in range(self.job.config.accumulate)]
        counts = _sums(self.job.system.objective.counts(part) for part in parts)
        carried, losses = self.carried, []
        self.optimizer.clear()
        for index, part in enumerate(parts):
            sums, carried = self._forward_backward(part, index, counts, carried, last=index + 1 == len(parts))
            losses.append(sums)
        *totals, wishes = self.job.devices.add_up([*(_sums(losses)[name] for name in counts), wish])
        wish = wish or (signal.SIGTERM if wishes else 0)  # all leave together
        rate = self._rate()
        norm = self.optimizer.step(rate) if all(map(math.isfinite, totals)) else math.nan
        if not math.isfinite(norm):
            return None
        self.carried = carried
        self.position.step += 1
        if self.average is not None:
            self.average.update(self.position.step)
        self.position.at = following(self.job.batches, parts[-1].at)
        loss = sum(total / count for total, count in zip(totals, counts.values(), strict=True))
        seconds = time.perf_counter() - began
        tokens = sum(part.tokens for part in parts)
        return {"loss": loss, "rate": rate, "norm": norm, "tokens": tokens, "took": seconds, "wish": wish}

    def _forward_backward(
        self, part: Batch, index: int, counts: Mapping[str, float], carried: State | None, *, last: bool
    ) -> tuple[dict[str, float], State | None]:
        """Add one micro-batch's gradients; each term is divided by its count over all parts and processes."""
        job = self.job
        torch.manual_seed(number(job.seed, "step", self.position.step, index, job.devices.rank))
        share = job.devices.share(part).to("cpu")
        with job.devices.unsynced(self.module, last):
            with autocast(job.config):
                terms, state = self.module(share, None if part.fresh else carried)
            # wrapped modules average gradients over processes: multiplied by their number that is the sum
            loss = sum(term.weight * term.sum / counts[term.name] for term in terms) * job.devices.world
            loss.backward()
        return {term.name: term.weight * float(term.sum.detach()) for term in terms}, state and state.detach()

    def _rate(self) -> float:
        position, config = self.position, self.job.config
        share = schedule.share(config.schedule, position.step, self.job.steps)
        return config.optimizer.rate * share * position.plateau * position.guard

    # --- between steps ----------------------------------------------------------------------------------------

    def _after_step(self, wish: int) -> None:
        config, step = self.job.config, self.position.step
        last = step >= self.job.steps
        due = last or wish or step % config.evaluate == 0 or step % config.save == 0
        if due and not all(bool(tensor.isfinite().all()) for tensor in self.job.system.parameters()):
            self._go_back()  # never save what the guard could not go on from
            return
        if last or step % config.evaluate == 0:
            with self.average.standing_in() if self.average is not None else nullcontext():
                self._evaluate()
            last = last or self._asked_to_stop or (config.patience > 0 and self.position.stale >= config.patience)
        self.position.finished = last
        if due or last:
            self._save()
        if wish and not last:
            raise Interrupted(wish, step, self.job.folder)

    def _evaluate(self) -> None:
        """Score the validation text; keep the weights if they are the best so far."""
        job, position = self.job, self.position
        job.system.eval()
        with torch.no_grad(), autocast(job.config):
            found = job.evaluate()
        job.system.train()
        told = {name: value for name, value in asdict(found).items() if value is not None}
        self._asked_to_stop = self._record({"split": "valid", **told}, job.progress.evaluation) is True
        better = math.isfinite(found.decides) and (position.best is None or found.decides < position.best)
        if better:
            position.best, position.best_step = found.decides, position.step
            if job.devices.leads:
                # before the checkpoint: killed in between, the resumed run writes the same file again
                save_model(job.folder / "model.safetensors", job.system, {**job.note, "step": position.step})
        position.stale = 0 if better else position.stale + 1
        position.plateau_stale = 0 if better else position.plateau_stale + 1
        factor = schedule.after_evaluation(job.config.schedule, position.plateau, position.plateau_stale)
        if factor != position.plateau:
            position.plateau, position.plateau_stale = factor, 0

    def report(self, entry: Mapping[str, float]) -> None:
        """Log a step and show it."""
        figures = {name: entry[name] for name in ("loss", "rate", "norm", "tokens")}
        self._record({**figures, "tokens_per_second": entry["tokens"] / entry["took"]}, self.job.progress.step)

    def _record(self, entry: Mapping[str, Any], show: Callable[[Mapping[str, Any]], Any]) -> Any:
        if not self.job.devices.leads:
            return None
        seconds = round(self._seconds_before + time.perf_counter() - self._began, 3)
        line = {"step": self.position.step, **entry, "seconds": seconds}
        self._log.add(line)
        return show(line)

    # --- checkpoints ------------------------------------------------------------------------------------------

    def _save(self) -> None:
        carried = self.job.devices.gather(self.carried)
        if self.job.devices.leads:
            training = {**self.optimizer.state_dict(), **pack_state(carried)}
            training |= self.average.state_dict() if self.average is not None else {}
            checkpoints.save(
                self.job.folder,
                self.position.step,
                {
                    "weights.safetensors": tensor_bytes(self.job.system.state_dict()),
                    "training.safetensors": tensor_bytes(training),
                    "training.json": self.position.to_json(self.job.note["config"]),
                },
            )
        self.job.devices.wait()

    def start(self) -> None:
        """From the newest whole checkpoint, or from the start (which is saved too, for the guard to go back to)."""
        job = self.job
        place = checkpoints.newest(job.folder)
        if job.devices.leads:
            checkpoints.drop_after(job.folder, place)
        if place is not None:
            self._restore(place)
        self._began = time.perf_counter()
        if job.devices.leads:
            self._log = Log(job.folder / "log.jsonl", keep_to=self.position.step)
            self._seconds_before = self._log.seconds
            if self.position.step:
                job.progress.say(f"continuing from step {self.position.step}")
            job.progress.start(job.steps, self.position.step)
        if place is None:
            self._save()
        self._batches = stream(job.batches, self.position.at)

    def _restore(self, place: Path) -> None:
        self.position = Position.from_json((place / "training.json").read_bytes(), self.job.note["config"], place)
        self.job.system.load_state_dict(read_tensors(place / "weights.safetensors"))
        training = read_tensors(place / "training.safetensors")
        own = {k: v for k, v in training.items() if not k.startswith("carried.") and not belongs(k)}
        self.optimizer.load_state_dict(own)
        if self.average is not None:
            self.average.load_state_dict(training)
        self.carried = self.job.devices.scatter(unpack_state(training))

    def _go_back(self) -> None:
        """The guard: to the last checkpoint, on at half the rate."""
        job, failed = self.job, self.position.step + 1
        factor = next_factor(self.position.guard, failed)
        job.devices.wait()
        self._restore(checkpoints.newest(job.folder))
        self.position = replace(self.position, guard=factor)
        self._batches.close()
        self._batches = stream(job.batches, self.position.at)
        if job.devices.leads:
            self._log.drop_after(self.position.step)
            back = f"back to step {self.position.step}, on at {factor:g} of the rate"
            text = f"step {failed}: the loss is not a number; {back}"
            self._record({"guard": factor, "failed": failed}, lambda _: job.progress.say(text))

    def close(self) -> None:
        """Stop making batches; close the log."""
        if self._batches is not None:
            self._batches.close()
        if self.job.devices.leads:
            self._log.close()


def autocast(config: Train) -> torch.autocast:
    """The configured precision of matrix products; weights and sums stay in float32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16")


def _sums(parts: Any) -> dict[str, float]:
    """Dictionaries of numbers, added up by key."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total
