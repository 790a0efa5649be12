"""What the families trained in epochs without torch share: word vectors, fastText classifiers, word alignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numba
import numpy as np

from firth.config import schema
from firth.embeddings.method import EmbeddingTrainer, Loss
from firth.errors import FirthError
from firth.jit import time_compilation
from firth.runs.run_folder import Run, TrainRequest
from firth.training import pass_loop


class HasKey(Protocol):
    """A split with the digest of its content."""

    key: str


@contextmanager
def lock_run(request: TrainRequest) -> Iterator[None]:
    """Hold the lock of the run folder, and report how long compilation took."""
    lock = request.run.lock()
    try:
        with time_compilation() as compilation:
            yield
        if compilation.seconds > 0.1:
            request.progress.say(f"compilation took {compilation.seconds:.1f} s; it is cached for the next time")
    finally:
        lock.close()


def estimate(request: TrainRequest) -> Any:
    """Not offered: these runs take minutes."""
    raise FirthError("--plan is for neural models", do="leave it out: these are trained quickly")


def make_task(
    request: TrainRequest,
    config: schema.EpochTraining,
    trainer: EmbeddingTrainer,
    validation_loss: Callable[[], Loss | None],
    save: Callable[[Mapping[str, Any]], None],
) -> pass_loop.PassTask:
    """The training task of a run that exists; `save` writes the weights with their metadata."""
    run = request.run
    digest = run.config_digest()
    metadata = {"config": digest, "tokenizers": dict(run.record.tokenizers)}
    save_weights = partial(save, metadata)
    return pass_loop.PassTask(trainer, config, validation_loss, save_weights, run.path, digest, request.progress)


def reproducibility(config: schema.EpochTraining, trainer: EmbeddingTrainer) -> str:
    """How exactly training can be reproduced."""
    if not trainer.has_loss:
        return "computed at once: the same text gives the same vectors"
    if pass_loop.thread_count(config) == 1:
        return "one thread: the same seed gives the same bytes"
    return f"{pass_loop.thread_count(config)} threads without locks: fast, not exactly reproducible"


def machine_info(config: schema.EpochTraining) -> dict[str, Any]:
    """What exact reproducibility depends on besides the configuration."""
    return {"numpy": np.__version__, "numba": numba.__version__, "threads": pass_loop.thread_count(config)}


def require_same_text(run: Run, splits: Mapping[str, HasKey]) -> None:
    """Refuse text that has changed since the run began."""
    for name, split in splits.items():
        if run.record.data["splits"].get(name) != split.key:
            what, do = f"the {name} text has changed since this run began", "restore it, or choose another --out"
            raise FirthError(what, where=run.path, do=do)


def refuse_calibration(config: Any, do: str = "set it to none") -> None:
    """Refuse the calibration that only networks have."""
    if config.data.calibration != "none":
        raise FirthError("only networks are calibrated by it", where="data.calibration", do=do)


def require_trained(run: Run, what: str) -> None:
    """Refuse a run without weights, which are called `what`."""
    if not run.is_trained:
        raise FirthError(f"this run has no {what} yet", where=run.path, do=f"continue it: firth train {run.path}")


def require_matching_config(run: Run, metadata: Mapping[str, Any], what: str) -> None:
    """Refuse weights of another configuration."""
    if metadata.get("config") != run.config_digest():
        do = "the folder was edited; restore config.json, or train again"
        raise FirthError(f"config.json is not the one these {what} were trained with", where=run.path, do=do)
