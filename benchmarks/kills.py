"""Kill training at random events, resume it, and compare the last bytes with an uninterrupted run."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROOT, Options, Part, Row, import_file, make_row


def kill(precision: str, wanted: int, rng: random.Random, folder: Path) -> tuple[int, int]:
    """How many runs were killed, and how many of them ended like the uninterrupted one."""
    crash = import_file(ROOT / "tests" / "training" / "test_crash.py")
    with crash.Harness(folder, "lstm-lm:tiny", {**crash.SMALL, "train.precision": precision}) as harness:
        harness.start()
        events = [rng.randint(1, len(harness.kinds)) for _ in range(wanted)]
        ends = [harness.killed_then_resumed(f"random-{n}", event) for n, event in enumerate(events)]
        return len(ends), sum(end == harness.expected for end in ends)


def resume(options: Options) -> Iterator[Row]:
    """Byte-identical runs after a kill, of those killed."""
    rng = random.Random(time.time_ns())
    for precision in ("float32", "bf16"):
        with tempfile.TemporaryDirectory() as folder:
            killed, identical = kill(precision, options.choose(20, 100), rng, Path(folder))
        name = f"runs byte-identical after a kill, {precision}: killed"
        yield make_row(name, identical, killed, "runs", 1.0, quality=True)


PARTS: dict[str, Part] = {"resume": resume}
