"""Kill training at random instants, resume it, and compare the last bytes with an uninterrupted run."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROOT, Options, Part, Row, import_file, make_row


def kill(precision: str, wanted: int, rng: random.Random, folder: Path) -> tuple[int, int]:
    """How many runs were killed, and how many of them ended like the uninterrupted one."""
    crash = import_file(ROOT / "tests" / "training" / "test_crash.py")
    harness = crash.Harness(folder, precision)
    harness.run("first")  # fills the token cache
    began = time.monotonic()
    harness.run("whole")
    seconds, expected = time.monotonic() - began, crash.outcome(folder / "whole")
    killed = identical = number = 0
    while killed < wanted and number < 5 * wanted:
        number += 1
        name = f"random-{number}"
        if harness.run(name, timed=True, kill_at=rng.uniform(0.0, seconds) * 1000) != signal.SIGKILL:
            continue
        killed += 1
        harness.run(name)
        identical += crash.outcome(folder / name) == expected
    harness.process.stdin.close()
    harness.process.wait(60)
    return killed, identical


def resume(options: Options) -> Iterator[Row]:
    """Byte-identical runs after a kill, of those killed."""
    rng = random.Random(time.time_ns())
    for precision in ("float32", "bf16"):
        with tempfile.TemporaryDirectory() as folder:
            killed, identical = kill(precision, options.choose(20, 100), rng, Path(folder))
        name = f"runs byte-identical after a kill, {precision}: killed"
        yield make_row(name, identical, killed, "runs", 1.0, quality=True)


PARTS: dict[str, Part] = {"resume": resume}
