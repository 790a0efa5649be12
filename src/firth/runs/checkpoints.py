"""Checkpoints of a run: folders `state/step-000123`, written atomically, the newest two kept.

And what ends in a checkpoint or goes back to one: signals (SIGINT, SIGTERM), and a loss that is NaN or infinite.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypedDict

from firth.errors import FirthError
from firth.runs import atomic_files, json_files
from firth.runs.gate import Gate
from firth.runs.json_files import Natural
from firth.runs.state_folder import CHECKPOINT, FOLDER, UNFINISHED, open_state

MAX_KEPT = 2
MANIFEST = "manifest.json"
FILES = (MANIFEST, "training.json", "weights.safetensors", "training.safetensors")  # removed in this order
_NEEDED = {"training.json", "weights.safetensors"}


class ManifestEntry(TypedDict):
    """What the manifest says of a file."""

    sha256: str
    bytes: Natural


def checkpoint_folder(run: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return open_state(run).path / f"step-{step:06d}"


def save(run: Path, step: int, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    """Write a checkpoint atomically (write, sync, rename), then remove the oldest."""
    state, name = open_state(run), f"step-{step:06d}"
    if _is_whole(state, name):
        return
    temporary = f".{name}.new"
    with atomic_files.explain_errors(state.path / name):
        if state.root == run:
            Gate(run).make_folder(FOLDER)
        _remove(state, [name, temporary])
        try:
            _write_all(state, temporary, contents)
        except OSError:
            _remove(state, [temporary])
            raise
        state.rename(temporary, name)
        state.sync()
    _remove(state, _names(state)[MAX_KEPT:])


def _write_all(state: Gate, folder: str, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    state.make_folder(folder)
    for name, data in contents.items():
        state.write_new(f"{folder}/{name}", data)
    sizes = {
        name: sum(memoryview(chunk).nbytes for chunk in atomic_files.as_chunks(data)) for name, data in contents.items()
    }
    manifest = {name: {"sha256": atomic_files.digest(data), "bytes": sizes[name]} for name, data in contents.items()}
    state.write_new(f"{folder}/{MANIFEST}", (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
    state.sync(folder)


def _remove(state: Gate, names: Iterable[str]) -> None:
    """Remove checkpoints, complete or not, as far as they are there; one with other files in it is an error."""
    for name in names:
        if name in state.names():
            with atomic_files.explain_errors(state.path / name):
                state.remove_folder(name, FILES)


def newest_checkpoint(run: Path) -> Path | None:
    """The newest complete checkpoint; damaged ones are skipped."""
    state = open_state(run)
    return next((state.path / name for name in _names(state) if _is_whole(state, name)), None)


def read(checkpoint: Path, name: str) -> bytes:
    """A file of a checkpoint."""
    return Gate(checkpoint.parent).read(f"{checkpoint.name}/{name}")


def has_checkpoints(run: Path) -> bool:
    """Whether there are any checkpoints, complete or not."""
    return bool(_names(open_state(run)))


def drop_after(run: Path, path: Path | None) -> None:
    """Remove what a crash left behind: incomplete folders and damaged checkpoints newer than the given one."""
    state = open_state(run)
    names = _names(state)
    newer = names[: names.index(path.name)] if path else names
    _remove(state, [name for name in state.names() if UNFINISHED.fullmatch(name)] + newer)


def is_complete(path: Path) -> bool:
    """Whether every file exists with the size and the checksum of the manifest."""
    return _is_whole(Gate(path.parent), path.name)


def _is_whole(state: Gate, name: str) -> bool:
    try:
        manifest = json_files.read(state, f"{name}/{MANIFEST}", dict[str, ManifestEntry], "")
        if not _NEEDED <= set(manifest) <= set(FILES[1:]):
            return False
        return all(_matches(state, f"{name}/{file}", entry) for file, entry in manifest.items())
    except (OSError, FirthError):
        return False


def _matches(state: Gate, name: str, entry: ManifestEntry) -> bool:
    with state.open(name) as file:
        if os.fstat(file.fileno()).st_size != entry["bytes"]:
            return False
        return hashlib.file_digest(file, "sha256").hexdigest() == entry["sha256"]


def _names(state: Gate) -> list[str]:
    """Of the checkpoints, newest first."""
    steps = {name: int(match[1]) for name in state.names() if (match := CHECKPOINT.fullmatch(name))}
    return sorted(steps, key=lambda name: steps[name], reverse=True)


MAX_HALVINGS = 8  # of the learning rate before giving up


class Interrupted(Exception):
    """Training was interrupted by a signal, after it has saved a checkpoint."""

    def __init__(self, signal_number: int, step: int, folder: Path) -> None:
        self.signal_number, self.step, self.folder = signal_number, step, folder
        super().__init__(f"interrupted at step {step}")


class StopRequest:
    """Remembers the first SIGINT or SIGTERM; a second one acts at once."""

    def __init__(self) -> None:
        self.signal_number = 0

    def handle(self, signal_number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.signal_number:
            raise KeyboardInterrupt
        self.signal_number = signal_number


@contextmanager
def catch_signals() -> Iterator[StopRequest]:
    """Catch signals while the steps run (only a main thread can; elsewhere none come)."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def halve_factor(factor: float, step: int) -> float:
    """Half of the guard's learning-rate factor; an error after too many halvings."""
    if factor <= 0.5**MAX_HALVINGS:
        raise FirthError(
            f"the loss is not a number at step {step}, even at {factor:g} of the learning rate",
            do="lower train.optimizer.learning_rate, or set train.optimizer.gradient_clip",
        )
    return factor / 2
