"""Kill training 200 times at random instants, continue it, and compare the last bytes with an undisturbed run."""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "training"))
from test_crash import PRECISIONS, Harness, outcome


def kill(precision: str, wanted: int, draw: random.Random, folder: Path) -> tuple[int, int]:
    """How many runs were killed, and how many of them ended like the undisturbed one."""
    harness = Harness(folder, precision)
    harness.run("first")  # fills the token cache
    began = time.monotonic()
    harness.run("whole")
    seconds, expected = time.monotonic() - began, outcome(folder / "whole")
    killed = alike = number = 0
    while killed < wanted and number < 5 * wanted:
        number += 1
        name = f"random-{number}"
        if harness.run(name, timed=True, kill_at=draw.uniform(0.0, seconds) * 1000) != signal.SIGKILL:
            continue
        killed += 1
        harness.run(name)
        alike += outcome(folder / name) == expected
    harness.process.stdin.close()
    harness.process.wait(60)
    return killed, alike


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40 kills")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    options = parser.parse_args()
    rows, draw = [], random.Random(time.time_ns())
    for precision in PRECISIONS:
        with tempfile.TemporaryDirectory() as folder:
            killed, alike = kill(precision, 20 if options.quick else 100, draw, Path(folder))
        print(f"{precision:8} killed {killed}, byte-identical after resume {alike}", flush=True)
        rows.append(
            {
                "name": f"{precision}: runs byte-identical after a kill",
                "ours": alike,
                "peer": killed,
                "ratio": alike / killed,
                "target": 1.0,
                "unit": "runs",
            }
        )
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
