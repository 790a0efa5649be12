"""Progress on a terminal: one line at its bottom that changes four times a second."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firth.runs.progress import STARTING, Quiet, evaluation_field, format_duration, step_fields

if TYPE_CHECKING:
    from rich.console import Console

REFRESH = 4  # times a second
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MIN_BAR, _MAX_BAR = 4, 30


class Status(Quiet):
    """What goes on now, as one line: the stage and for how long or, in training, a bar, the step, loss, speed and the
    time that is left."""

    def __init__(self) -> None:
        self._stage: str | None = ""  # None: training
        self._entry: Mapping[str, Any] = {}
        self._first_fraction, self._began = 0.0, time.monotonic()

    def stage(self, text: str) -> None:
        self._stage, self._began = text, time.monotonic()

    def start(self, total: float, unit: str) -> None:
        self._stage, self._entry, self._began = None, {}, time.monotonic()

    def step(self, entry: Mapping[str, Any]) -> None:
        if not self._entry:
            self._first_fraction = entry["fraction"]
        self._entry = entry

    def clear(self) -> None:
        """Forget the steps."""
        self._entry = {}

    def line(self, width: int) -> str:
        """The line, in so many columns."""
        seconds = time.monotonic() - self._began
        if self._stage is not None or not self._entry:
            text = "first step" if self._stage is None else self._stage or STARTING
            return _fit_stage(_spinner(), text, format_duration(seconds), width)
        fraction = self._entry["fraction"]
        done = fraction - self._first_fraction
        left = f"{format_duration(seconds / done * (1 - fraction))} left" if done > 0 else ""
        return fit_line(fraction, step_fields(self._entry), left, width)


class Live(Status):
    """The line of what goes on now, below the messages."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live as LiveDisplay

        super().__init__()
        self._console = console or Console(stderr=True)
        self._display = LiveDisplay(
            console=self._console, refresh_per_second=REFRESH, transient=True, get_renderable=self._render
        )

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def stage(self, text: str) -> None:
        super().stage(text)
        self._display.start()

    def start(self, total: float, unit: str) -> None:
        super().start(total, unit)
        self._display.start()

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        self.say(f"step {entry['step']:,}  {evaluation_field(entry)}")

    def stop(self) -> None:
        self._display.stop()

    def _render(self) -> Any:
        from rich.text import Text

        return Text(self.line(self._console.width - 1), no_wrap=True)


def _spinner() -> str:
    """The frame that is due now."""
    return _SPINNER[int(time.monotonic() * REFRESH) % len(_SPINNER)]


def _fit_stage(sign: str, text: str, time_spent: str, width: int) -> str:
    """The stage, shortened to leave room for its time."""
    room = width - len(sign) - len(time_spent) - 3
    if len(text) > room:
        text = f"{text[: max(0, room - 1)]}…"
    return f"{sign} {text}  {time_spent}"[: max(0, width)]


def fit_line(fraction: float, fields: list[str], left: str, width: int) -> str:
    """A bar, as many of the fields as fit, and the time that is left."""
    for count in range(len(fields), -1, -1):
        rest = "  ".join(filter(None, [*fields[:count], left]))
        bar = min(_MAX_BAR, width - len(rest) - 2)
        if bar >= _MIN_BAR:
            filled = round(fraction * bar)
            return f"{'━' * filled}{'╌' * (bar - filled)}  {rest}"
    return rest[: max(0, width)]
