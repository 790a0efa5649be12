"""The loop of word vectors: pieces of work done by several threads without locks, or by one, exactly repeatable."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config.schema import Passes
from firth.counts.compiled import default_threads
from firth.errors import FirthError
from firth.runs import checkpoints, weights
from firth.runs.log import Log
from firth.runs.progress import Progress
from firth.training.guard import Interrupted, listening
from firth.vectors.learner import Learner, Loss

_LINES = 20  # of the log, for an epoch


@dataclass
class Position:
    """Where the passes stand."""

    step: int = 0  # pieces done
    count: int = 0  # of the epoch's losses so far …
    total: float = 0.0  # … and their sum
    best: float | None = None  # lowest held-out loss
    stale: int = 0  # epochs since
    finished: bool = False


def mean_loss(loss: Loss) -> dict[str, Any]:
    """The loss itself."""
    return {"loss": loss.mean, "metric": "loss", "value": loss.mean}


@dataclass(frozen=True)
class Job:
    """A learner, the folder it is saved in, and what to do between epochs."""

    learner: Learner
    config: Passes
    held_out: Callable[[], Loss | None]
    keep: Callable[[], None]  # writes the vectors as they are: those that the run gives
    folder: Path
    digest: str  # of the configuration
    progress: Progress
    told: Callable[[Loss], dict[str, Any]] = mean_loss  # a loss as the log has it


def threads(config: Passes) -> int:
    """How many change the vectors at the same time."""
    return 1 if config.deterministic else config.threads or default_threads()


def train(job: Job) -> Position:
    """All epochs, or those after the newest checkpoint. Raises Interrupted after a signal."""
    return _Run(job).run()


class _Run:
    """One training under way."""

    def __init__(self, job: Job) -> None:
        self.job, self.position = job, Position()
        self.pieces = job.learner.pieces
        self.steps = job.config.epochs * self.pieces
        self._interval = max(1, self.pieces // _LINES)
        self._words = job.learner.size / self.pieces  # of a piece, on average
        self._lately = Loss(0, 0.0)

    def run(self) -> Position:
        """What is left."""
        self._start()
        try:
            with listening() as wishes, ThreadPoolExecutor(threads(self.job.config)) as pool:
                while not self.position.finished:
                    self._stretch(pool, lambda: wishes.number)
                    if wishes.number and not self.position.finished:
                        raise Interrupted(wishes.number, self.position.step, self.job.folder)
        finally:
            self.job.progress.stop()
            self._log.close()
        return self.position

    def _stretch(self, pool: ThreadPoolExecutor, wish: Callable[[], int]) -> None:
        """Pieces until the epoch ends, a checkpoint is due or someone wants to stop; then all threads are at rest."""
        position = self.position
        epoch, piece = divmod(position.step, self.pieces)
        left = iter(range(piece, self.pieces))

        def more() -> bool:
            return not wish() and not self._is_due()

        for loss in _in_flight(pool, lambda index: self.job.learner.work(epoch, index), left, more):
            position.step += 1
            position.count, position.total = position.count + loss.count, position.total + loss.total
            self._lately += loss
            due = position.step % self._interval == 0 or position.step % self.pieces == 0
            if due and self.job.learner.predicts:
                self._report()
        if position.step % self.pieces == 0:
            self._end_epoch()
        if position.finished or wish() or self._is_due():
            self._save()

    def _is_due(self) -> bool:
        return time.perf_counter() - self._saved >= self.job.config.save

    def _end_epoch(self) -> None:
        position, patience = self.position, self.job.config.patience
        epoch = position.step // self.pieces
        loss = Loss(position.count, position.total)
        self._require_finite(loss)
        wanted = False
        if self.job.learner.predicts and not loss.count and epoch == 1:
            self.job.progress.say("note: no text has two words left to learn from; see method.sample and min_count")
        if loss.count:
            entry = {"epoch": epoch, "split": "train", **self.job.told(loss)}
            wanted = self._record(entry, self.job.progress.evaluation) is True
        position.count, position.total = 0, 0.0
        wanted = self._hold_out(epoch) or wanted
        last = epoch == self.job.config.epochs or wanted or (patience > 0 and position.stale >= patience)
        if (last and not patience) or (patience and position.stale == 0):
            self.job.keep()
        position.finished = bool(last)

    def _hold_out(self, epoch: int) -> bool:
        """Score the held-out text; whether whoever looks on wants to stop."""
        found, position = self.job.held_out(), self.position
        if found is None or not found.count:
            return False
        better = position.best is None or found.mean < position.best
        position.best = found.mean if better else position.best
        position.stale = 0 if better else position.stale + 1
        entry = {"epoch": epoch, "split": "valid", **self.job.told(found)}
        return self._record(entry, self.job.progress.evaluation) is True

    def _require_finite(self, loss: Loss) -> None:
        finite = all(np.isfinite(array).all() for array in self.job.learner.arrays.values())
        if not finite or not np.isfinite(loss.total):
            raise FirthError("the vectors are no longer numbers", where=self.job.folder, do="lower method.rate")

    # --- telling --------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        words = round((self.position.step - self._told) * self._words)
        self._working += words
        speed = self._working / max(1e-9, time.perf_counter() - self._began)  # pieces end in bursts: the mean so far
        self._record({"loss": self._lately.mean, "tokens": words, "tokens_per_second": speed}, self.job.progress.step)
        self._lately, self._told = Loss(0, 0.0), self.position.step

    def _record(self, entry: Mapping[str, Any], show: Callable[[Mapping[str, Any]], Any]) -> Any:
        seconds = round(self._seconds_before + time.perf_counter() - self._began, 3)
        line = {"step": self.position.step, **entry, "seconds": seconds}
        self._log.add(line)
        return show(line)

    # --- checkpoints ----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        job, place = self.job, checkpoints.newest(self.job.folder)
        if place is None and checkpoints.any_left(job.folder):
            job.progress.say("its checkpoints are damaged: training again from the start")
        checkpoints.drop_after(job.folder, place)
        if place is not None:
            self._restore(place)
        self._began = self._saved = time.perf_counter()
        self._told, self._working = self.position.step, 0
        self._log = Log(job.folder / "log.jsonl", keep_to=self.position.step)
        self._seconds_before = self._log.seconds
        if self.position.step:
            job.progress.say(f"continuing from step {self.position.step}")
        job.progress.start(self.steps, self.position.step)

    def _save(self) -> None:
        values = {**asdict(self.position), "config": self.job.digest}
        contents = {
            "weights.safetensors": weights.pieces(self.job.learner.arrays),
            "training.json": (json.dumps(values, indent=2) + "\n").encode(),
        }
        checkpoints.save(self.job.folder, self.position.step, contents)
        self._saved = time.perf_counter()

    def _restore(self, place: Path) -> None:
        from safetensors.numpy import load

        values = json.loads((place / "training.json").read_bytes())
        if values.pop("config") != self.job.digest:
            do = "the folder was edited; restore config.json, or train again"
            raise FirthError("the checkpoint belongs to another configuration", where=place, do=do)
        self.position = Position(**values)
        for name, array in load((place / "weights.safetensors").read_bytes()).items():
            self.job.learner.arrays[name][...] = array


def _in_flight(
    pool: ThreadPoolExecutor, work: Callable[[int], Loss], pieces: Iterator[int], more: Callable[[], bool]
) -> Iterator[Loss]:
    """The losses in the pieces' order, two for each thread under way; after the first, none where there are no more."""
    under_way, begun = deque(), False
    while True:
        while len(under_way) < 2 * pool._max_workers and (more() or not begun):
            piece, begun = next(pieces, None), True
            if piece is None:
                break
            under_way.append(pool.submit(work, piece))
        if not under_way:
            return
        yield under_way.popleft().result()
