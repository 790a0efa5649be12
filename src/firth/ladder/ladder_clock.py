"""The wall time of a ladder: its networks share what the rest leaves of the budget, equally or by their cost."""

from __future__ import annotations

import time
from collections.abc import Iterator

from firth.runs.progress import Budget, format_duration

_OVERHEAD = 0.05  # of a network's share, for timing its first steps and scoring it, until one has been measured
_MIN_SHARE = 0.5  # of the budget is for training, whatever the rest takes
_MIN_SECONDS = 1.0
_TOLERANCE = 1.25  # of the budget


class LadderClock:
    """Counts from the start of the ladder; `networks` share the budget equally, or, if that is the sum of their costs,
    in proportion to these. `scoring` is the sum of the relative times that timing and scoring them takes; without it,
    these are as the costs."""

    def __init__(self, budget: Budget, networks: float, scoring: float | None = None) -> None:
        self._budget, self._unit, self._networks, self._left = budget.amount, budget.unit, networks, networks
        self._scoring_left = networks if scoring is None else scoring
        self._began, self._earlier = time.monotonic(), 0.0
        self._share, self._overhead = 0.0, -1.0  # of the last network, in seconds; the latter for a scoring of 1

    def spent(self) -> float:
        """Seconds so far, those of earlier processes included."""
        return self._earlier + time.monotonic() - self._began

    def skip(self, seconds: float, cost: float, scoring: float | None = None) -> None:
        """A rung was finished by an earlier process: its cost, 0 if it is no network."""
        self._earlier += seconds
        self._leave(cost, scoring)

    def share(self, cost: float = 1.0) -> float:
        """The seconds that the next network is trained for."""
        rest, part = self._budget - self.spent(), cost / max(cost, self._left)
        overhead = rest * _OVERHEAD if self._overhead < 0 else self._overhead * self._scoring_left
        least = self._budget * _MIN_SHARE * cost / max(cost, self._networks)
        self._share = max(_MIN_SECONDS, round(max((rest - overhead) * part, least), 1))
        return self._share

    def overrun(self) -> Iterator[str]:
        """Why the ladder took clearly longer than its budget, if it did."""
        if self._unit == "seconds" and self.spent() > self._budget * _TOLERANCE + _MIN_SECONDS:
            times = f"{format_duration(self.spent())}, not {format_duration(self._budget)}"
            yield (
                f"The ladder took {times}: half of a budget is for training at least, and scoring takes long where "
                "other programs keep cores busy."
            )

    def finish(self, began: float, cost: float = 1.0, scoring: float | None = None) -> None:
        """A network is done, whose rung began when so many seconds were spent."""
        self._overhead = max(0.0, self.spent() - began - self._share) / (cost if scoring is None else scoring)
        self._leave(cost, scoring)

    def _leave(self, cost: float, scoring: float | None) -> None:
        self._left -= cost
        self._scoring_left -= cost if scoring is None else scoring
