"""The lock of a run folder: one process at a time trains in it and writes its scores and report."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from firth.errors import FirthError
from firth.runs import atomic_files, state_folder
from firth.runs.gate import Gate

NAME = ".lock"


@dataclass(frozen=True)
class Lock:
    """An exclusive lock on a run folder."""

    gate: Gate
    descriptor: int

    def close(self) -> None:
        """Release the lock; the folder is removed if it has no run and nothing else in it."""
        try:
            if not self.gate.exists("config.json"):
                with suppress(OSError, FirthError), exclusive(self.gate.path):
                    state_folder.release(self.gate.path)
                    self.gate.remove(NAME)
                    self.gate.path.rmdir()
        finally:
            os.close(self.descriptor)


def take_lock(gate: Gate) -> Lock:
    """Take the lock (within `exclusive`), and remove what killed processes left; an error if another process has it."""
    descriptor = gate.open_or_create(NAME)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in (".", "tokenizers", "results"):
            gate.remove_leftovers(name)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            what = "another process is training here"
            raise FirthError(what, where=gate.path, do="wait, or choose --out") from None
        raise
    return Lock(gate, descriptor)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """One process at a time, the others wait: for what takes an instant, such as reading scores and writing them."""
    with atomic_files.open_folder(path) as folder:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
