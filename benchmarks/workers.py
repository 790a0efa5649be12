"""Two sides of a comparison, each in a process of its own, that work by turns when they are told to."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

# Some scripts beside this one are called as packages are, and packages are meant.
HERE = str(Path(__file__).parent)
sys.path[:] = [*(place for place in sys.path if place != HERE), HERE]


class Worker:
    """A script that answers each line on its standard input with the seconds of some work."""

    def __init__(self, script: str, *words: str):
        command = [sys.executable, script, *words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def round(self) -> dict[str, float]:
        """Seconds of a round, and the most memory so far in MB."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def compare(script: str, words: Sequence[str], rounds: int) -> tuple[list[float], list[float]]:
    """(seconds of ours and theirs, memory of ours and theirs): medians of rounds by turns."""
    workers = [Worker(script, who, *words) for who in ("ours", "theirs")]
    for worker in workers:
        worker.round()  # warm
    found = [[worker.round() for worker in workers] for _ in range(rounds)]
    for worker in workers:
        worker.close()
    return tuple([statistics.median(pair[i][key] for pair in found) for i in (0, 1)] for key in ("seconds", "memory"))


def serve(work: Callable[[], float]) -> None:
    """A worker's side: works at each line."""
    for _ in sys.stdin:
        seconds = work()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "memory": memory}), flush=True)
