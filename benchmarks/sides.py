"""What benchmarks share: two sides timed by turns, and a line of their table."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Part = Callable[[int], list[dict]]  # is given how many rounds to measure, prints its rows and returns them


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


def run_parts(parts: Mapping[str, Part], about: str) -> None:
    """The command line of a benchmark of several parts, one or several of them (default: all)."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    options = parser.parse_args()
    if wrong := set(options.parts) - set(parts):
        parser.error(f"no part {', '.join(sorted(wrong))}; there are {', '.join(parts)}")
    print(f"{'':40} {'ours':>14} {'peer':>14}")
    rows = [found for part in options.parts or parts for found in parts[part](2 if options.quick else 5)]
    if options.json:
        print(json.dumps({"rows": rows}))


def precisions() -> list[str]:
    """Those that can be measured here: bf16 only where the processor has it."""
    from firth.training.devices import has_bf16

    return ["float32", "bf16"][: 1 + has_bf16()]
