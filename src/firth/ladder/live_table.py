"""The ladder on a terminal: a table of all rungs that fills while they are trained."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firth.ladder.ladder_progress import LadderProgress
from firth.report.axes import format_number
from firth.runs.ladder_folder import Result
from firth.runs.live_display import REFRESH, Status
from firth.runs.progress import Budget, format_duration

if TYPE_CHECKING:
    from rich.console import Console

_PENDING, _ACTIVE, _DONE = "·", "▸", "✓"
_GAP = "  "
_LINES_BESIDE = 3  # the head, the line below the rungs, and the cursor's


class LiveTable(LadderProgress):
    """All rungs from the start: the finished ones with their size, time and score, the active one with a progress bar,
    the others pending; below them the time that is left of the budget."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live as LiveDisplay

        self._status = Status()
        super().__init__(self._status)
        self._console = console or Console(stderr=True)
        self._results: dict[str, Result] = {}
        self._active, self._metric = "", "bits per byte"
        self._budget: Budget | None = None
        self._began, self._earlier = time.monotonic(), 0.0  # seconds of rungs that were finished before
        self._live = LiveDisplay(
            console=self._console, refresh_per_second=REFRESH, transient=True, get_renderable=self._render
        )

    def begin(self, names: Sequence[str], budget: Budget) -> None:
        """List the rungs."""
        super().begin(names, budget)
        self._budget = budget

    def begin_rung(self, name: str, details: str) -> None:
        """Make a rung the active one."""
        self._active = name
        self.stage("preparing")

    def finish_rung(self, result: Result, metric: str) -> None:
        """Fill the row of a rung."""
        self._earlier += result.seconds if result.rung != self._active else 0.0
        self._results[result.rung], self._metric, self._active = result, metric, ""
        self._status.clear()

    def say(self, text: str) -> None:
        """Print a message above the table, if it is new; of a rung's own only notes and warnings."""
        is_own = bool(self._active) and not text.startswith(("note:", "warning:"))
        if text not in self._printed and not is_own:
            self._console.print(text, highlight=False, markup=False)
        self._printed.add(text)

    def stage(self, text: str) -> None:
        """Show what begins now."""
        self._status.stage(text)
        self._live.start()

    def start(self, total: float, unit: str) -> None:
        """Show the steps of a rung."""
        self._status.start(total, unit)
        self._live.start()

    def stop(self) -> None:
        """The table goes on when the steps of a rung end."""
        self._status.stage("finishing")

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        """Nothing: the row of a rung ends with its score."""

    def close(self, is_done: bool = False) -> None:
        """Remove the table, which the final one replaces; that of a stopped ladder stays."""
        self._live.transient = is_done
        self._live.stop()

    def _render(self) -> Any:
        from rich.text import Text

        lines = self.lines(self._console.width - 1, self._console.height)
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

    # --- lines --------------------------------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[str]:
        """The table in so many columns, with as many rungs around the active one as the lines have room for."""
        if not self._names:
            return [self._status.line(width)]
        head, *rows = self._rows(width)
        room = max(1, height - _LINES_BESIDE - (not self._active))
        last = max(room, min(len(rows), len(self._results) + 2))
        below = [] if self._active else [self._status.line(width)]
        return [head, *rows[max(0, last - room) : last], *below, self._total_line(width)]

    def _rows(self, width: int) -> list[str]:
        """The head and a row for each rung; columns that do not fit are left out."""
        columns = self._columns(f"validation {self._metric}")
        if _row_width(columns) > width:
            columns = self._columns(self._metric)
        while len(columns) > 1 and _row_width(columns) > width:
            del columns[list(columns)[1]]  # the score is the last to go
        widths = {name: max(map(len, cells)) for name, cells in columns.items()}
        first, *others = columns
        rows = []
        for number in range(len(self._names) + 1):
            cells = [columns[first][number].ljust(widths[first])]
            if number and self._names[number - 1] == self._active:
                rows.append(_GAP.join([*cells, self._status.line(width - widths[first] - len(_GAP))])[:width])
                continue
            cells += [columns[name][number].rjust(widths[name]) for name in others]
            rows.append(_GAP.join(cells).rstrip()[:width])
        return rows

    def _columns(self, score: str) -> dict[str, list[str]]:
        """The cells of each column, its head first; after that of the names, the most important come last."""
        results = [self._results.get(name) for name in self._names]
        columns = {
            "rung": [f"{self._sign(name)} {name}" for name in self._names],
            "parameters": [format_number(r.parameters) if r else "" for r in results],
            "time": [format_duration(r.seconds) if r else "" for r in results],
            score: [r.shown_score if r else "pending" for r in results],
        }
        return {name: [f"  {name}" if name == "rung" else name, *cells] for name, cells in columns.items()}

    def _sign(self, name: str) -> str:
        if name in self._results:
            return _DONE
        return _ACTIVE if name == self._active else _PENDING

    def _total_line(self, width: int) -> str:
        """How far the ladder is; the last part stays where there is no room for the others."""
        parts = [
            f"{len(self._results)} of {len(self._names)} rungs",
            f"{format_duration(time.monotonic() - self._began)} so far",
        ]
        if self._budget and self._budget.unit == "seconds":
            used = self._earlier + time.monotonic() - self._began
            parts.append(f"{format_duration(max(0.0, self._budget.amount - used))} of the budget left")
        while len(parts) > 1 and len(" · ".join(parts)) > width:
            del parts[0]
        return " · ".join(parts)[:width]


def _row_width(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(max(map(len, cells)) for cells in columns.values()) + len(_GAP) * (len(columns) - 1)
