"""Progress of training: the budget (90s, 2m, 500 steps, 13 epochs), and reports as a live display on a terminal, plain
lines, JSON lines, or not at all."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol

from firth.errors import FirthError

Style = Literal["auto", "live", "plain", "json", "quiet"]


class Progress(Protocol):
    """The receiver of progress reports."""

    def say(self, text: str) -> None:
        """A message."""

    def stage(self, text: str) -> None:
        """What begins now and may take a while: reading the text, scoring the test split …"""

    def start(self, total: float, unit: str) -> None:
        """Training starts, or goes on, with a budget of so many steps or seconds."""

    def step(self, entry: Mapping[str, Any]) -> None:
        """A training step is done: step, loss, tokens_per_second, fraction (of the budget, before it), …"""

    def evaluation(self, entry: Mapping[str, Any]) -> bool | None:
        """An evaluation is done: step, split, metric, value, …; training ends early if this returns True."""

    def stop(self) -> None:
        """Training, or the stage, ends."""


class Quiet:
    """No reports."""

    def say(self, text: str) -> None: ...
    def stage(self, text: str) -> None: ...
    def start(self, total: float, unit: str) -> None: ...
    def step(self, entry: Mapping[str, Any]) -> None: ...
    def evaluation(self, entry: Mapping[str, Any]) -> None: ...
    def stop(self) -> None: ...


class Plain(Quiet):
    """A line for each stage and evaluation, and one every ten seconds of steps: for logs and pipes."""

    SECONDS = 10.0

    def __init__(self) -> None:
        self._printed = 0.0

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def stage(self, text: str) -> None:
        self.say(f"{text} …")

    def start(self, total: float, unit: str) -> None:
        self._printed = time.monotonic()

    def step(self, entry: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if now - self._printed >= self.SECONDS:
            self._printed = now
            self.say("  ".join(_step_fields(entry)))

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self.say(f"step {entry['step']:,}  {_evaluation_field(entry)}")


class Json(Quiet):
    """Every report as one JSON line on standard output: for programs."""

    def say(self, text: str) -> None:
        _print_json({"event": "note", "text": text})

    def stage(self, text: str) -> None:
        _print_json({"event": "stage", "text": text})

    def step(self, entry: Mapping[str, Any]) -> None:
        _print_json({"event": "step", **entry})

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        _print_json({"event": "evaluation", **entry})


def _print_json(entry: Mapping[str, Any]) -> None:
    """The entry without NaN and infinities, which JSON does not have."""
    finite = {k: None if isinstance(value, float) and not isfinite(value) else value for k, value in entry.items()}
    print(json.dumps(finite), flush=True)


class Live(Quiet):
    """One line at the bottom of a terminal that changes four times a second: what goes on and for how long or, in
    training, a bar, the step, loss, speed and the time that is left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live as LiveDisplay

        self._console = Console(stderr=True)
        self._stage: str | None = ""  # None: training
        self._entry: Mapping[str, Any] = {}
        self._first_fraction, self._began = 0.0, time.monotonic()
        self._display = LiveDisplay(
            console=self._console, refresh_per_second=4, transient=True, get_renderable=self._render
        )

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)
        if self._stage is not None:
            self.stage("")

    def stage(self, text: str) -> None:
        self._stage, self._began = text, time.monotonic()
        self._display.start()

    def start(self, total: float, unit: str) -> None:
        self._stage, self._entry, self._began = None, {}, time.monotonic()
        self._display.start()

    def step(self, entry: Mapping[str, Any]) -> None:
        if not self._entry:
            self._first_fraction = entry["fraction"]
        self._entry = entry

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self.say(f"step {entry['step']:,}  {_evaluation_field(entry)}")

    def stop(self) -> None:
        self._stage = ""
        self._display.stop()

    def _render(self) -> Any:
        from rich.text import Text

        seconds = time.monotonic() - self._began
        if self._stage is not None or not self._entry:
            return Text(f"{_SPINNER[int(seconds * 4) % len(_SPINNER)]} {self._stage or ''}  {seconds:.0f} s")
        fraction = self._entry["fraction"]
        done = fraction - self._first_fraction
        left = f"{format_duration(seconds / done * (1 - fraction))} left" if done > 0 else ""
        return Text(fit_line(fraction, _step_fields(self._entry), left, self._console.width - 1), no_wrap=True)


_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MIN_BAR, _MAX_BAR = 8, 30


def fit_line(fraction: float, fields: list[str], left: str, width: int) -> str:
    """A bar, as many of the fields as fit, and the time that is left."""
    for count in range(len(fields), -1, -1):
        rest = "  ".join(filter(None, [*fields[:count], left]))
        bar = min(_MAX_BAR, width - len(rest) - 2)
        if bar >= _MIN_BAR:
            filled = round(fraction * bar)
            return f"{'━' * filled}{'╌' * (bar - filled)}  {rest}"
    return rest[:width]


def _step_fields(entry: Mapping[str, Any]) -> list[str]:
    """What is said of a step, the most important first."""
    fields = [f"{entry['fraction']:.0%}", f"step {entry['step']:,}", f"loss {entry['loss']:.3f}"]
    return [*fields, f"{entry['tokens_per_second']:,.0f} tokens/s"]


def _evaluation_field(entry: Mapping[str, Any]) -> str:
    split = {"valid": "validation", "train": "training"}.get(entry["split"], entry["split"])
    return f"{split} {entry['metric'].replace('_', ' ')} {entry['value']:.2f}"


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
