"""Progress of training: the budget (90s, 2m, 500 steps, 13 epochs), and reports as a live display on a terminal, plain
lines, JSON lines, or not at all."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol, get_args

from firth.errors import FirthError, unknown

Style = Literal["auto", "live", "plain", "json", "quiet"]
STARTING = "starting"  # the stage without a name


class Progress(Protocol):
    """The receiver of progress reports."""

    def say(self, text: str) -> None:
        """A message."""

    def stage(self, text: str) -> None:
        """What begins now and may take a while: reading the text, scoring the test split …; empty: the start."""

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
    """A line for each stage and evaluation, and one every ten seconds or so: for logs and pipes.

    A stage that has not been named is named after two seconds."""

    SECONDS = 10.0
    _PATIENCE = 2.0  # of the ticker, which leaves a line that is due to the next step

    def __init__(self) -> None:
        self._printed = self._began = time.monotonic()
        self._stage, self._is_named = "", True
        self._ended = threading.Event()
        self._ended.set()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        self._printed = time.monotonic()

    def stage(self, text: str) -> None:
        if text:
            self.say(f"{text} …")
        self._watch(text or STARTING, is_named=bool(text))

    def start(self, total: float, unit: str) -> None:
        self._printed = time.monotonic()
        self._watch("training", is_named=True)

    def step(self, entry: Mapping[str, Any]) -> None:
        if time.monotonic() - self._printed >= self.SECONDS:
            self.say("  ".join(step_fields(entry)))

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self.say(f"step {entry['step']:,}  {evaluation_field(entry)}")

    def stop(self) -> None:
        self._ended.set()

    def _watch(self, stage: str, is_named: bool) -> None:
        """Begin a stage, and say so again while it says nothing itself."""
        self._stage, self._began, self._is_named = stage, time.monotonic(), is_named
        if self._ended.is_set():
            self._ended = threading.Event()
            threading.Thread(target=self._tick_until, args=(self._ended,), daemon=True).start()

    def _tick_until(self, ended: threading.Event) -> None:
        while not ended.wait(0.5):
            self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        """A line if there was none for long."""
        limit = self.SECONDS + self._PATIENCE if self._is_named else self._PATIENCE
        if now - self._printed >= limit:
            self._is_named = True
            self.say(f"{self._stage} … {format_duration(now - self._began)}")


class Json(Quiet):
    """Every report as one JSON line on standard output: for programs."""

    def say(self, text: str) -> None:
        _print_json({"event": "note", "text": text})

    def stage(self, text: str) -> None:
        if text:
            _print_json({"event": "stage", "text": text})

    def step(self, entry: Mapping[str, Any]) -> None:
        _print_json({"event": "step", **entry})

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        _print_json({"event": "evaluation", **entry})


def _print_json(entry: Mapping[str, Any]) -> None:
    """The entry without NaN and infinities, which JSON does not have."""
    finite = {k: None if isinstance(value, float) and not isfinite(value) else value for k, value in entry.items()}
    print(json.dumps(finite), flush=True)


def step_fields(entry: Mapping[str, Any]) -> list[str]:
    """What is said of a step, the most important first."""
    fields = [f"{entry['fraction']:.0%}", f"step {entry['step']:,}", f"loss {entry['loss']:.3f}"]
    return [*fields, f"{entry['tokens_per_second']:,.0f} tokens/s"]


def evaluation_field(entry: Mapping[str, Any]) -> str:
    """What is said of an evaluation."""
    split = {"valid": "validation", "train": "training"}.get(entry["split"], entry["split"])
    return f"{split} {entry['metric'].replace('_', ' ')} {entry['value']:.2f}"


def progress(style: Style | Progress) -> Progress:
    """The reporter of a style, or the one given; auto is live on a terminal and plain otherwise."""
    if not isinstance(style, str):
        if not all(hasattr(style, name) for name in ("say", "stage", "start", "step", "evaluation", "stop")):
            do = f"write one of {', '.join(get_args(Style))}, or give an object with the methods of Progress"
            raise FirthError("progress: not a style of progress reports", do=do)
        return style
    style = resolve_style(style)
    if style == "live":
        from firth.runs.live_display import Live

        return Live()
    return {"plain": Plain, "json": Json, "quiet": Quiet}[style]()


def resolve_style(style: Style) -> Style:
    """Auto is live on a terminal and plain otherwise."""
    if style not in get_args(Style):
        raise unknown("style of progress", style, get_args(Style))
    if style != "auto":
        return style
    return "live" if sys.stderr.isatty() else "plain"


_MAX_AMOUNT = 1e12
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|steps?|epochs?)\s*")


@dataclass(frozen=True)
class Budget:
    """An amount of training."""

    amount: float
    unit: Literal["seconds", "steps", "epochs"]

    def to_dict(self) -> dict[str, float]:
        """As JSON values: `{"seconds": 90}`."""
        return {self.unit: int(self.amount) if self.amount.is_integer() else self.amount}


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
