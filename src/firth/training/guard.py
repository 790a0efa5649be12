"""What interrupts a run: signals that ask it to leave, and numbers that are no longer numbers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from firth.errors import FirthError

RETRIES = 8  # halvings of the rate before giving up


class Interrupted(Exception):
    """The run was asked to leave, and has saved."""

    def __init__(self, number: int, step: int, folder: Path) -> None:
        self.number, self.step, self.folder = number, step, folder
        super().__init__(f"interrupted at step {step}")


class Wishes:
    """Remembers the first SIGINT or SIGTERM; a second one acts at once."""

    def __init__(self) -> None:
        self.number = 0

    def note(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.number:
            raise KeyboardInterrupt
        self.number = number


@contextmanager
def listening() -> Iterator[Wishes]:
    """Collect wishes to leave while the steps run (only a main thread can; elsewhere none come)."""
    wishes = Wishes()
    if threading.current_thread() is not threading.main_thread():
        yield wishes
        return
    before = {number: signal.signal(number, wishes.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wishes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def next_factor(factor: float, step: int) -> float:
    """Half of the guard's factor; an error after too many halvings."""
    if factor <= 0.5**RETRIES:
        raise FirthError(
            f"the loss is not a number at step {step}, even at {factor:g} of the rate",
            do="lower train.optimizer.rate, or set train.optimizer.clip",
        )
    return factor / 2
