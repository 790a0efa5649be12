"""Progress of training: the budget (90s, 2m, 500 steps, 13 epochs), the training log of a run (log.jsonl), and reports
as a progress bar, plain or JSON lines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol

from firth.config import migrations
from firth.errors import FirthError
from firth.runs import atomic_files

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


_MAX_AMOUNT = 1e12
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|steps?|epochs?)\s*")


@dataclass(frozen=True)
class Budget:
    """An amount of training."""

    amount: float
    unit: Literal["seconds", "steps", "epochs"]


def parse_budget(text: str) -> Budget:
    """Read `90s`, `2m`, `1.5h`, `500 steps` or `13 epochs`."""
    match = _PATTERN.fullmatch(text)
    if not match or not 0 < float(match[1]) < _MAX_AMOUNT:
        raise FirthError(f"train.budget = {text!r}: not a budget", do="write 90s, 2m, 1.5h, 500 steps or 13 epochs")
    amount, unit = float(match[1]), match[2]
    if unit in _SECONDS:
        return Budget(amount * _SECONDS[unit], "seconds")
    return Budget(amount, "steps" if unit.startswith("step") else "epochs")


def format_duration(seconds: float) -> str:
    """A duration as text in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Log:
    """Appends lines; each has a `step`, so that a resumed run can drop the lines after its checkpoint."""

    def __init__(self, path: Path, *, keep_to: int) -> None:
        self._path = path
        self._start(keep_to)

    def _start(self, keep_to: int) -> None:
        entries = [line for line in read_log(self._path) if line["step"] <= keep_to]
        self.seconds = max((line.get("seconds", 0.0) for line in entries), default=0.0)
        atomic_files.replace_file(self._path, b"".join(map(_line, entries)))
        self._file = self._path.open("ab", buffering=0)  # unbuffered: nothing is left to write on close

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append one line."""
        with atomic_files.explain_errors(self._path):
            self._file.write(_line(entry))

    def drop_after(self, step: int) -> None:
        """Drop the lines after a step (training went back to its checkpoint)."""
        self._file.close()
        self._start(step)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The complete lines of a log; a last line cut by a crash is skipped."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("step"), int) and _is_number(entry.get("seconds")):
                yield migrations.rename(migrations.rename(entry, migrations.LOG), migrations.METRICS)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode()
