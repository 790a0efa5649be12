"""Checkpoints of a run: folders `state/step-000123`, written atomically, the newest two kept.

And what ends in a checkpoint or goes back to one: signals (SIGINT, SIGTERM), and a loss that is NaN or infinite.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from firth.errors import FirthError
from firth.runs import atomic_files

MAX_KEPT = 2
MANIFEST = "manifest.json"


def checkpoint_folder(run: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return run / "state" / f"step-{step:06d}"


def save(run: Path, step: int, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    """Write a checkpoint atomically (write, sync, rename), then remove the oldest."""
    path = checkpoint_folder(run, step)
    if is_complete(path):
        return
    temporary = path.with_name(f".{path.name}.new")
    with atomic_files.explain_errors(path):
        atomic_files.remove_folder(path)
        atomic_files.remove_folder(temporary)
        try:
            _write_all(temporary, contents)
        except OSError:
            atomic_files.remove_folder(temporary)
            raise
        atomic_files.rename(temporary, path)
        atomic_files.sync_folder(path.parent)
    for old in _folders(run)[MAX_KEPT:]:
        atomic_files.remove_folder(old)


def _write_all(path: Path, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    path.mkdir(parents=True)
    for name, data in contents.items():
        atomic_files.write_new(path / name, data)
    sizes = {
        name: sum(memoryview(chunk).nbytes for chunk in atomic_files.as_chunks(data)) for name, data in contents.items()
    }
    manifest = {name: {"sha256": atomic_files.digest(data), "bytes": sizes[name]} for name, data in contents.items()}
    atomic_files.write_new(path / MANIFEST, (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
    atomic_files.sync_folder(path)


def newest_checkpoint(run: Path) -> Path | None:
    """The newest complete checkpoint; damaged ones are skipped."""
    return next((path for path in _folders(run) if is_complete(path)), None)


def has_checkpoints(run: Path) -> bool:
    """Whether there are any checkpoints, complete or not."""
    return bool(_folders(run))


def drop_after(run: Path, path: Path | None) -> None:
    """Remove what a crash left behind: incomplete folders and damaged checkpoints newer than the given one."""
    state = run / "state"
    if not state.is_dir():
        return
    newer = _folders(run)[: _folders(run).index(path)] if path else _folders(run)
    for entry in [*state.glob(".*"), *newer]:
        atomic_files.remove_folder(entry)


def is_complete(path: Path) -> bool:
    """Whether every file exists with the checksum of the manifest."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        return all(atomic_files.digest_file(path / name) == entry["sha256"] for name, entry in manifest.items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _folders(run: Path) -> list[Path]:
    """Checkpoint folders, newest first."""
    folders = [path for path in (run / "state").glob("step-*") if path.name.removeprefix("step-").isdigit()]
    return sorted(folders, key=lambda path: int(path.name.removeprefix("step-")), reverse=True)


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
