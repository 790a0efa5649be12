"""Progress display of a ladder: a progress bar per rung, and no message twice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from firth.runs.progress import Plain, Progress, Style, progress


class MessageProgress(Plain):
    """Messages only, no steps: for logs and pipes, where a line per step of eight runs would hide the table."""

    def step(self, entry: Mapping[str, Any]) -> None: ...
    def evaluation(self, entry: Mapping[str, Any]) -> None: ...


class LadderProgress:
    """A new progress bar for each rung; messages that all rungs print of their shared text appear once."""

    def __init__(self, style: Style | Progress) -> None:
        self._style, self._printed = style, set[str]()
        self._display = self._new_display()

    def _new_display(self) -> Progress:
        if self._style == "plain" or (self._style == "auto" and not sys.stderr.isatty()):
            return MessageProgress()
        return progress(self._style)

    def say(self, text: str) -> None:
        """Print a message, if it is new."""
        if text not in self._printed:
            self._printed.add(text)
            self._display.say(text)

    def stage(self, text: str) -> None:
        """What begins now."""
        self._display.stage(text)

    def start(self, total: float, unit: str) -> None:
        """Start the steps of a rung."""
        self._display = self._new_display()
        self._display.start(total, unit)

    def step(self, entry: Mapping[str, Any]) -> None:
        """Report a training step of a rung."""
        self._display.step(entry)

    def evaluation(self, entry: Mapping[str, Any]) -> bool | None:
        """Report an evaluation of a rung."""
        return self._display.evaluation(entry)

    def stop(self) -> None:
        """End the steps of this rung."""
        self._display.stop()
