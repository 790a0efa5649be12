"""What benchmarks share: two sides timed by turns, and a line of their table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def row(name: str, ours: float, peer: float | None, target: float | None, unit: str, faster: bool = True) -> dict:
    """A line of the table; a ratio over 1 means that ours is better. `faster`: more is better."""
    ratio = None if peer is None else ours / peer if faster else peer / ours
    shown = [f"{ours:14,.2f}", f"{peer:14,.2f}" if peer is not None else f"{'-':>14}"]
    end = "" if ratio is None else f"{ratio:8.2f}" + (f"  (target {target})" if target else "")
    print(f"{name:40} {shown[0]} {shown[1]} {unit:>12} {end}", flush=True)
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "target": target, "unit": unit}


def timed(*works: Callable[[], Any], rounds: int) -> list[float]:
    """The median time of each, by turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, found in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            found.append(time.perf_counter() - began)
    return [statistics.median(found) for found in times]
