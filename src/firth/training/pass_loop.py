"""The training loop of models without torch (word vectors, fastText, word alignment): epochs in chunks, by several
threads without locks (Hogwild, Recht et al. 2011) or by one, deterministically; early stopping and checkpoints."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import migrations
from firth.config.schema import EpochTraining
from firth.embeddings.method import EmbeddingTrainer, Loss
from firth.errors import FirthError
from firth.jit import default_threads
from firth.runs import checkpoints, json_files, weights
from firth.runs.atomic_files import Chunks
from firth.runs.checkpoints import Interrupted, catch_signals
from firth.runs.json_files import Natural
from firth.runs.progress import Progress
from firth.runs.training_log import Log

_LOG_LINES = 20  # for an epoch


@dataclass
class PassState:
    """The state of training, apart from the arrays."""

    step: Natural = 0  # chunks done
    loss_count: Natural = 0  # number of the epoch's losses so far …
    loss_sum: float = 0.0  # … and their sum
    best_loss: float | None = None  # lowest validation loss
    bad_epochs: Natural = 0  # since the best (early stopping)
    finished: bool = False


def mean_loss(loss: Loss) -> dict[str, Any]:
    """The log fields of a loss: the mean itself."""
    return {"loss": loss.mean, "metric": "loss", "value": loss.mean}


@dataclass(frozen=True)
class PassTask:
    """What to train, the folder it is saved in, and what to do between epochs."""

    trainer: EmbeddingTrainer
    config: EpochTraining
    validation_loss: Callable[[], Loss | None]
    save_weights: Callable[[], None]  # writes the weights as they are: those that `load` reads
    folder: Path
    config_digest: str
    progress: Progress
    log_fields: Callable[[Loss], dict[str, Any]] = mean_loss  # a loss as the log has it


def thread_count(config: EpochTraining) -> int:
    """How many threads train at the same time."""
    return 1 if config.deterministic else config.threads or default_threads()


def train(task: PassTask) -> PassState:
    """All epochs, or those after the newest checkpoint. Raises Interrupted after a signal."""
    return _PassTrainer(task).run()


class _PassTrainer:
    """One training run."""

    def __init__(self, task: PassTask) -> None:
        self.task, self.state = task, PassState()
        self.chunks = task.trainer.chunks  # of an epoch
        self.steps = task.config.epochs * self.chunks
        self._log_every = max(1, self.chunks // _LOG_LINES)
        self._words_per_chunk = task.trainer.size / self.chunks  # on average
        self._recent_loss = Loss(0, 0.0)
        self._reported_step = self._first_step = self._words_timed = 0
        self._paused = self._timed_from = 0.0  # seconds
        self._is_warm = False

    def run(self) -> PassState:
        """Train what is left."""
        self._start()
        try:
            with catch_signals() as request, ThreadPoolExecutor(thread_count(self.task.config)) as pool:
                while not self.state.finished:
                    self._train_chunks(pool, lambda: request.signal_number)
                    if request.signal_number:
                        raise Interrupted(request.signal_number, self.state.step, self.task.folder)
        finally:
            self.task.progress.stop()
            self._log.close()
        return self.state

    def _train_chunks(self, pool: ThreadPoolExecutor, stop_signal: Callable[[], int]) -> None:
        """Chunks until the epoch ends, a checkpoint is due or a signal comes; then all threads are idle."""
        state, trainer = self.state, self.task.trainer
        epoch, chunk = divmod(state.step, self.chunks)

        def should_continue() -> bool:
            return not stop_signal() and not self._checkpoint_due()

        def train_chunk(index: int) -> Loss:
            return trainer.train_chunk(epoch, index)

        limit = 2 * thread_count(self.task.config)
        for loss in _run_in_order(pool, train_chunk, iter(range(chunk, self.chunks)), should_continue, limit):
            state.step += 1
            state.loss_count, state.loss_sum = state.loss_count + loss.count, state.loss_sum + loss.total
            self._recent_loss += loss
            due = state.step % self._log_every == 0 or state.step % self.chunks == 0
            if due and trainer.has_loss:
                self._report()
        paused = time.perf_counter()
        if state.step % self.chunks == 0:
            self._end_epoch()
        if state.finished or stop_signal() or self._checkpoint_due():
            self._save()
        self._paused += time.perf_counter() - paused

    def _checkpoint_due(self) -> bool:
        return time.perf_counter() - self._saved >= self.task.config.checkpoint_seconds

    def _end_epoch(self) -> None:
        state, task, patience = self.state, self.task, self.task.config.patience
        epoch = state.step // self.chunks
        loss = Loss(state.loss_count, state.loss_sum)
        self._require_finite(loss)
        stop_requested = False
        if task.trainer.has_loss and not loss.count and epoch == 1:
            task.progress.say("note: no text has two words left to learn from; see method.subsample and min_count")
        if loss.count:
            entry = {"epoch": epoch, "split": "train", **task.log_fields(loss)}
            stop_requested = self._record(entry, task.progress.evaluation) is True
        state.loss_count, state.loss_sum = 0, 0.0
        stop_requested = self._validate(epoch) or stop_requested
        last = epoch == task.config.epochs or stop_requested or (patience > 0 and state.bad_epochs >= patience)
        if (last and not patience) or (patience and state.bad_epochs == 0):
            task.save_weights()
        state.finished = bool(last)

    def _validate(self, epoch: int) -> bool:
        """Evaluate on the validation text; whether the progress callback requests to stop."""
        loss, state = self.task.validation_loss(), self.state
        if loss is None or not loss.count:
            return False
        better = state.best_loss is None or loss.mean < state.best_loss
        state.best_loss = loss.mean if better else state.best_loss
        state.bad_epochs = 0 if better else state.bad_epochs + 1
        entry = {"epoch": epoch, "split": "valid", **self.task.log_fields(loss)}
        return self._record(entry, self.task.progress.evaluation) is True

    def _require_finite(self, loss: Loss) -> None:
        finite = all(np.isfinite(array).all() for array in self.task.trainer.arrays.values())
        if not finite or not np.isfinite(loss.total):
            do = "lower method.learning_rate"
            raise FirthError("the weights are NaN or infinite", where=self.task.folder, do=do)

    # --- logging --------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        words = round((self.state.step - self._reported_step) * self._words_per_chunk)
        entry = {"loss": self._recent_loss.mean, "tokens": words, "tokens_per_second": self._speed(words)}
        entry["fraction"] = self.state.step / self.steps
        self._record(entry, self.task.progress.step)
        self._recent_loss, self._reported_step = Loss(0, 0.0), self.state.step

    def _speed(self, words: int) -> float:
        """Words a second, without evaluations and checkpoints, after these: the mean so far, as chunks end in bursts.

        When each thread has done a chunk, the mean begins anew: the first ones may have waited for compilation.
        """
        now = time.perf_counter() - self._paused
        self._words_timed += words
        speed = self._words_timed / max(1e-9, now - self._timed_from)
        if not self._is_warm and self.state.step - self._first_step >= thread_count(self.task.config):
            self._is_warm, self._timed_from, self._words_timed = True, now, 0
        return speed

    def _record(self, entry: Mapping[str, Any], show: Callable[[Mapping[str, Any]], Any]) -> Any:
        seconds = round(self._seconds_before + time.perf_counter() - self._began, 3)
        line = {"step": self.state.step, **entry, "seconds": seconds}
        self._log.add(line)
        return show(line)

    # --- checkpoints ----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        task, checkpoint = self.task, checkpoints.newest_checkpoint(self.task.folder)
        if checkpoint is None and checkpoints.has_checkpoints(task.folder):
            task.progress.say("its checkpoints are damaged: training again from the start")
        checkpoints.drop_after(task.folder, checkpoint)
        if checkpoint is not None:
            self._restore(checkpoint)
        self._began = self._saved = self._timed_from = time.perf_counter()
        self._reported_step = self._first_step = self.state.step
        self._log = Log(task.folder / "log.jsonl", keep_to=self.state.step)
        self._seconds_before = self._log.seconds
        if self.state.step:
            task.progress.say(f"continuing from step {self.state.step}")
        task.progress.start(self.steps, "steps")

    def _save(self) -> None:
        values = {**asdict(self.state), "config": self.task.config_digest}
        contents: dict[str, bytes | Chunks] = {
            "weights.safetensors": weights.serialize(self.task.trainer.arrays),
            "training.json": (json.dumps(values, indent=2) + "\n").encode(),
        }
        checkpoints.save(self.task.folder, self.state.step, contents)
        self._saved = time.perf_counter()

    def _restore(self, checkpoint: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        do, where = "the folder was edited; restore it, or train again", checkpoint / "training.json"
        values = json_files.parse(checkpoints.read(checkpoint, where.name), dict[str, Any], where, do)
        if values.pop("config", None) != self.task.config_digest:
            raise FirthError("the checkpoint belongs to another configuration", where=checkpoint, do=do)
        try:
            self.state = json_files.convert(PassState, migrations.rename(values, migrations.PASS_CHECKPOINT))
            arrays = load(checkpoints.read(checkpoint, "weights.safetensors"))
            for name, array in migrations.rename(arrays, migrations.ALIGNMENT).items():
                self.task.trainer.arrays[name][...] = array
        except (ValueError, KeyError, TypeError, SafetensorError):
            raise FirthError("the checkpoint does not fit config.json", where=checkpoint, do=do) from None


def _run_in_order(
    pool: ThreadPoolExecutor,
    work: Callable[[int], Loss],
    chunks: Iterator[int],
    should_continue: Callable[[], bool],
    limit: int,
) -> Iterator[Loss]:
    """The losses in the chunks' order, at most `limit` chunks submitted; at least one, then while it should go on."""
    submitted: deque[Future[Loss]] = deque()
    started = False
    while True:
        while len(submitted) < limit and (should_continue() or not started):
            chunk, started = next(chunks, None), True
            if chunk is None:
                break
            submitted.append(pool.submit(work, chunk))
        if not submitted:
            return
        yield submitted.popleft().result()
