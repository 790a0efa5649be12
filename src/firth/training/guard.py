"""Interruptions of training: signals (SIGINT, SIGTERM), and a loss that is NaN or infinite."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from firth.errors import FirthError

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
