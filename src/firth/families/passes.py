"""What the families trained by passes over a text share: word vectors, classifiers of bags of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import numba
import numpy as np

from firth.config import schema
from firth.counts.compiled import timed_compiling
from firth.errors import FirthError
from firth.families.order import Order
from firth.runs.folder import Run
from firth.training import passes
from firth.vectors.learner import Learner, Loss


class Keyed(Protocol):
    """A split of a text, told from another by a digest of its content."""

    key: str


@contextmanager
def alone(order: Order) -> Iterator[None]:
    """Keep others out of the run's folder while it lasts, and say how long compiling took."""
    kept = order.run.lock()
    try:
        with timed_compiling() as compiling:
            yield
        if compiling.seconds > 0.1:
            order.progress.say(f"compiling took {compiling.seconds:.1f} s; it is kept for the next time")
    finally:
        kept.close()


def foresee(order: Order) -> Any:
    """There is no plan of these runs: they take minutes."""
    raise FirthError("--plan is for neural models", do="leave it out: these are trained quickly")


def make_job(
    order: Order,
    config: schema.Passes,
    learner: Learner,
    held_out: Callable[[], Loss | None],
    keep: Callable[[Mapping[str, Any]], None],
) -> passes.Job:
    """The passes of a run that exists; `keep` writes the weights with the note that proves whose they are."""
    run = order.run
    digest = run.config_digest()
    note = {"config": digest, "tokenizers": dict(run.record.tokenizers)}
    return passes.Job(learner, config, held_out, lambda: keep(note), run.path, digest, order.progress)


def mode(config: schema.Passes, learner: Learner) -> str:
    """How exactly the passes can be repeated."""
    if not learner.predicts:
        return "worked out at once: the same text gives the same vectors"
    if passes.threads(config) == 1:
        return "one thread: the same seed gives the same bytes"
    return f"{passes.threads(config)} threads without locks: quick, not exactly repeatable"


def machine(config: schema.Passes) -> dict[str, Any]:
    """What the bytes depend on."""
    return {"numpy": np.__version__, "numba": numba.__version__, "threads": passes.threads(config)}


def require_same_text(run: Run, splits: Mapping[str, Keyed]) -> None:
    """Refuse text that is not the one the run began with."""
    for name, split in splits.items():
        if run.record.data["splits"].get(name) != split.key:
            what, do = f"the {name} text has changed since this run began", "restore it, or choose another --out"
            raise FirthError(what, where=run.path, do=do)


def require_trained(run: Run, what: str) -> None:
    """Refuse a run without weights, which are called `what`."""
    if not run.is_trained:
        raise FirthError(f"this run has no {what} yet", where=run.path, do=f"continue it: firth train {run.path}")


def require_own(run: Run, note: Mapping[str, Any], what: str) -> None:
    """Refuse weights of another configuration."""
    if note.get("config") != run.config_digest():
        do = "the folder was edited; restore config.json, or train again"
        raise FirthError(f"config.json is not the one these {what} were trained with", where=run.path, do=do)
