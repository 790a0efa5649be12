"""Runs and kills training processes: forks one per task, so that torch is imported only once.

Reads tasks as JSON lines, answers each with how the process ended. `kill_at` counts the writes, syncs and renames of
the run folder (in thousandths of a second if `timed`); the process kills itself there, or its parent does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch  # noqa: F401 - imported before the fork, used after it

import firth
import firth.families.neural
import firth.training.loop
from firth.runs import atomic_files, checkpoints


def count_operations(kill_at: int, when: str) -> list[int]:
    """Wrap every operation on files: count them, and die before or after the one that is due."""
    done = [0]

    def wrapped(operation):
        def run(*arguments):
            done[0] += 1
            due = done[0] == kill_at
            if due and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            operation(*arguments)
            if due and when == "after":
                os.kill(os.getpid(), signal.SIGKILL)

        return run

    for name in ("write", "sync", "rename"):
        setattr(atomic_files, name, wrapped(getattr(atomic_files, name)))
    return done


def record_spans(done: list[int]) -> dict[str, int]:
    """Record after how many operations the checkpoint of each step is finished."""
    spans, save = {}, checkpoints.save

    def recorded(run, step, contents):
        save(run, step, contents)
        spans[str(step)] = done[0]

    checkpoints.save = recorded
    return spans


def child(task: dict) -> None:
    """Train, or continue training; write the number of file operations."""
    timed = task.get("timed", False)
    done = count_operations(0 if timed else task.get("kill_at", 0), task.get("when", "before"))
    spans = record_spans(done)
    documents = [" ".join(str(n * m % 97) for m in range(40)) for n in range(60)]
    firth.train("lstm-lm:tiny", text=documents, out=task["out"], settings=task["settings"])
    Path(task["out"]).with_suffix(".spans").write_text(json.dumps({**spans, "all": done[0]}))


def run(task: dict) -> int:
    """Fork, wait, kill if it is due by the clock; the wait status."""
    process = os.fork()
    if process == 0:
        try:
            child(task)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if task.get("timed"):
        time.sleep(task["kill_at"] / 1000)
        os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps({"status": run(json.loads(line))}), flush=True)
