"""A program's process: `python -m benchmarks.worker MODULE:FUNCTION TASK`, started by `processes.Worker`."""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

from benchmarks.harness import Settings
from benchmarks.processes import Timed


def peak_memory() -> float:
    """Peak resident memory of this process, or of a command that it ran, in MB."""
    command = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    try:  # not `ru_maxrss`, which begins with what the parent had at the fork
        status = Path("/proc/self/status").read_text()
        own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return max(own, command)


def main() -> None:
    """Prepare, say so, then work at each line."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    module, _, function = sys.argv[1].partition(":")
    task = json.loads(sys.argv[2])
    settings = Settings(**task["settings"])
    work = getattr(importlib.import_module(module), function)(settings, **task["arguments"])
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[settings.clock]
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        case = json.loads(line)
        began = clock()
        result = work(**case)
        seconds = clock() - began
        if isinstance(result, Timed):
            seconds, result = result.seconds, result.result
        print(json.dumps({"seconds": seconds, "memory": peak_memory(), "result": result}), file=answers)


if __name__ == "__main__":
    main()
