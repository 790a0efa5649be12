"""Progress reports of training: a progress bar, plain lines, or JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, Protocol

Style = Literal["auto", "live", "plain", "json", "quiet"]


class Progress(Protocol):
    """The receiver of progress reports."""

    def say(self, text: str) -> None:
        """A message."""

    def start(self, total: int, done: int) -> None:
        """Training starts: `done` of `total` steps are done."""

    def step(self, entry: Mapping[str, Any]) -> None:
        """A training step is done: step, loss, tokens_per_second, …"""

    def evaluation(self, entry: Mapping[str, Any]) -> bool | None:
        """An evaluation is done: step, split, metric, value, …; training ends early if this returns True."""

    def stop(self) -> None:
        """Training ends."""


class Quiet:
    """No reports."""

    def say(self, text: str) -> None: ...
    def start(self, total: int, done: int) -> None: ...
    def step(self, entry: Mapping[str, Any]) -> None: ...
    def evaluation(self, entry: Mapping[str, Any]) -> None: ...
    def stop(self) -> None: ...


class Plain(Quiet):
    """One line per evaluation and about ten lines of steps per run: for logs and pipes."""

    def __init__(self) -> None:
        self._total = 0

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def start(self, total: int, done: int) -> None:
        self._total = total

    def step(self, entry: Mapping[str, Any]) -> None:
        if entry["step"] % max(1, self._total // 10) == 0:
            self.say(f"step {entry['step']}/{self._total}  {_format_step(entry)}")

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self.say(f"step {entry['step']}/{self._total}  {entry['split']} {entry['metric']} {entry['value']:.2f}")


class Json(Quiet):
    """Every report as one JSON line on standard output: for programs."""

    def say(self, text: str) -> None:
        print(json.dumps({"event": "note", "text": text}), flush=True)

    def step(self, entry: Mapping[str, Any]) -> None:
        print(json.dumps({"event": "step", **_finite(entry)}), flush=True)

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        print(json.dumps({"event": "evaluation", **_finite(entry)}), flush=True)


def _finite(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without NaN and infinities, which JSON does not have."""
    return {key: None if isinstance(value, float) and not isfinite(value) else value for key, value in entry.items()}


class Live(Quiet):
    """A progress bar on a terminal: loss, tokens/s, time left, the last validation score."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._valid = ""
        columns = ("[bold]train", BarColumn(24), MofNCompleteColumn(), TextColumn("{task.description}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._bar = Bar(*columns, *times, console=Console(stderr=True), refresh_per_second=4)
        self._task: Any = None

    def say(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)

    def start(self, total: int, done: int) -> None:
        self._task = self._bar.add_task("", total=total, completed=done)
        self._bar.start()

    def step(self, entry: Mapping[str, Any]) -> None:
        self._bar.update(self._task, completed=entry["step"], description=_format_step(entry) + self._valid)

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self._valid = f"  {entry['split']} {entry['metric']} {entry['value']:.2f}"

    def stop(self) -> None:
        self._bar.stop()


def _format_step(entry: Mapping[str, Any]) -> str:
    return f"loss {entry['loss']:.3f}  {entry['tokens_per_second']:,.0f} tokens/s"


_STYLES = {"live": Live, "plain": Plain, "json": Json, "quiet": Quiet}


def progress(style: Style | Progress) -> Progress:
    """The reporter of a style, or the one given; auto is live on a terminal and plain otherwise."""
    if not isinstance(style, str):
        return style
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "plain"
    return _STYLES[style]()
