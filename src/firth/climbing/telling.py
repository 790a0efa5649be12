"""How a ladder tells its progress: each rung like a training run, but no sentence twice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from firth.runs.progress import Plain, Progress, Style, progress


class Notes(Plain):
    """Sentences only: for logs and pipes, where a line per step of eight runs would hide the table."""

    def step(self, entry: Mapping[str, Any]) -> None: ...
    def evaluation(self, entry: Mapping[str, Any]) -> None: ...


class Teller:
    """Whom to tell: a fresh bar for each rung, and what all rungs say of their common text only once."""

    def __init__(self, style: Style | Progress) -> None:
        self._style, self._said = style, set[str]()
        self._inner = self._fresh()

    def _fresh(self) -> Progress:
        if self._style == "plain" or (self._style == "auto" and not sys.stderr.isatty()):
            return Notes()
        return progress(self._style)

    def say(self, text: str) -> None:
        """A sentence, if it is new."""
        if text not in self._said:
            self._said.add(text)
            self._inner.say(text)

    def start(self, total: int, done: int) -> None:
        """The steps of a rung begin."""
        self._inner = self._fresh()
        self._inner.start(total, done)

    def step(self, entry: Mapping[str, Any]) -> None:
        """A step of a rung is done."""
        self._inner.step(entry)

    def evaluation(self, entry: Mapping[str, Any]) -> bool | None:
        """A rung was scored."""
        return self._inner.evaluation(entry)

    def stop(self) -> None:
        """No more steps of this rung."""
        self._inner.stop()
