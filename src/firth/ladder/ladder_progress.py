"""Progress of a ladder: one display for all rungs, and no message twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firth.runs.ladder_folder import Result
from firth.runs.progress import STARTING, Budget, Plain, Progress, Style, progress, resolve_style


class LadderProgress:
    """Passes the reports of all rungs on to one display; messages about the text they share appear once."""

    def __init__(self, display: Progress) -> None:
        self._display, self._printed = display, set[str]()
        self._names: Sequence[str] = ()

    # --- the ladder ---------------------------------------------------------------------------------------------------

    def begin(self, names: Sequence[str], budget: Budget) -> None:
        """The ladder begins: its rungs, and the budget of all of them."""
        self._names = names

    def begin_rung(self, name: str, details: str) -> None:
        """A rung begins."""
        self._display.say(f"{self._names.index(name) + 1}/{len(self._names)} {name}{details and f' ({details})'}")

    def finish_rung(self, result: Result, metric: str) -> None:
        """A rung is trained and evaluated, now or in an earlier call."""
        self._display.say(
            f"    {result.shown_score} {metric} on validation text, {result.seconds:.1f} s, {result.shown_work}"
        )

    def close(self, is_done: bool = False) -> None:
        """The ladder ends, or is stopped."""
        self._display.stop()

    # --- a rung: the reports of its training --------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Print a message, if it is new."""
        if text not in self._printed:
            self._printed.add(text)
            self._display.say(text)

    def stage(self, text: str) -> None:
        """What begins now."""
        self._display.stage(text)

    def start(self, total: float, unit: str) -> None:
        """The steps of a rung start."""
        self._display.start(total, unit)

    def step(self, entry: Mapping[str, Any]) -> None:
        """A training step of a rung."""
        self._display.step(entry)

    def evaluation(self, entry: Mapping[str, Any]) -> bool | None:
        """An evaluation of a rung."""
        return self._display.evaluation(entry)

    def stop(self) -> None:
        """The steps of a rung end."""
        self._display.stop()


class PlainLadder(Plain):
    """For logs and pipes: messages, stages that take two seconds, and a line every ten seconds or so; one for each
    stage and evaluation would hide those of the rungs."""

    def stage(self, text: str) -> None:
        self._watch(text or STARTING, is_named=False)

    def evaluation(self, entry: Mapping[str, Any]) -> None: ...


def ladder_progress(style: Style | Progress) -> LadderProgress:
    """The reporter of a style, or one for the display given."""
    resolved = resolve_style(style) if isinstance(style, str) else style
    if resolved == "plain":
        return LadderProgress(PlainLadder())
    if resolved == "live":
        from firth.ladder.live_table import LiveTable

        return LiveTable()
    return LadderProgress(progress(resolved))
