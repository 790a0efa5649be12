"""Runs and kills training processes: forks one per task, so that torch is imported only once.

Reads lists of tasks as JSON lines, does those of a list at once, and answers with how their processes ended. A task
trains a preset or runs a command. What a process does is counted, never timed: each write, sync, rename and removal of
a file, each step and each evaluation is an event. `kill_at` is the number of the event at which the process kills
itself: before it or, of a write, in the middle of it. It may send itself other `signals` there instead, the clock may
jump by so many seconds, or the operation may fail with the number of an error (`fault`), as on a full disk. Each
operation on a file may be `slow` by so many seconds, and the process may get only so much `memory` in bytes beyond what
it has.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - imported before the fork, used after it

import firth
import firth.cli.main
import firth.families.neural
import firth.training.loop
from firth.datasets import builtin, example_reader
from firth.runs import atomic_files, checkpoints
from firth.runs.progress import Quiet
from small_presets import few

FILE_EVENTS = ("sync", "rename", "unlink")  # and writes
for counts in (builtin.DOCUMENTS, builtin.IMAGES):  # a small world
    counts.update(few(counts))
small_world = example_reader.small_world
worlds: list[tuple[str, str]] = []  # the parts of it that this process has asked for
learned: set[Any] = set()  # modules and parts of the world


def known_world(name: str, split: str) -> Any:
    """The examples of a task, which are kept in memory."""
    worlds.append((name, split))
    return small_world(name, split)


example_reader.small_world = known_world


class Events(Quiet):
    """Counts events, and dies at the one that is due."""

    def __init__(self, kill_at: int = 0, signals: tuple[int, ...] = (signal.SIGKILL,), clock_jump: float = 0.0,
                 fault: int = 0, slow: float = 0.0) -> None:  # fmt: skip
        self.kill_at, self.signals, self.clock_jump, self.fault, self.slow = kill_at, signals, clock_jump, fault, slow
        self.kinds: list[str] = []  # of the events so far
        self.saved: dict[str, int] = {}  # step of each checkpoint -> the number of events when it was finished

    def count(self, kind: str, begin: Callable[[], object] = lambda: None) -> None:
        """One event; before dying, what happens of it."""
        self.kinds.append(kind)
        if self.slow and kind in (*FILE_EVENTS, "write"):
            time.sleep(self.slow)
        if len(self.kinds) == self.kill_at:
            if signal.SIGKILL in self.signals:
                begin()
            for number in self.signals:
                os.kill(os.getpid(), number)
            now = time.time
            time.time = lambda: now() + self.clock_jump
            if self.fault:
                raise OSError(self.fault, os.strerror(self.fault))

    def step(self, entry: Any) -> None:
        self.count("step")

    def evaluation(self, entry: Any) -> None:
        self.count("evaluation")

    def watch(self) -> None:
        """Count what is done to files from now on, and note when a checkpoint is finished."""
        for kind in FILE_EVENTS:
            setattr(atomic_files, kind, self._counted(kind, getattr(atomic_files, kind)))
        write, save = atomic_files.write, checkpoints.save

        def torn(descriptor: int, data: bytes) -> None:
            self.count("write", lambda: write(descriptor, memoryview(data)[: len(data) // 2]))
            write(descriptor, data)

        atomic_files.write = torn

        def saved(run: Path, step: int, contents: Any) -> None:
            save(run, step, contents)
            self.saved[str(step)] = len(self.kinds)

        checkpoints.save = saved

    def _counted(self, kind: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.count(kind)
            return operation(*arguments)

        return counted


def child(task: dict[str, Any]) -> None:
    """Train, or continue training, or run a command; write the events."""
    os.environ["FIRTH_CACHE"] = task.get("cache", os.environ["FIRTH_CACHE"])
    if "stderr" in task:
        os.dup2(os.open(task["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    if "memory" in task:
        limit_memory(task["memory"])
    names = ("kill_at", "signals", "clock_jump", "fault", "slow")
    events = Events(**{name: task[name] for name in names if name in task})
    events.watch()
    options = {"text": task["text"]} if task.get("text") else {}
    if "command" in task:
        run_command(task["command"])
    else:
        firth.train(task["preset"], out=task["out"], settings=task["settings"], progress=events, **options)
    found = {"kinds": events.kinds, "saved": events.saved, "modules": sorted(sys.modules), "worlds": worlds}
    Path(task["out"]).with_suffix(".events").write_text(json.dumps(found))


def limit_memory(more: int) -> None:
    """Let the process have only so many bytes more."""
    used = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    limit = int(used.split()[1]) * 1024 + more
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def learn(task: dict[str, Any]) -> None:
    """Import and generate here what a whole run has needed, so that those after it need not."""
    found = json.loads(Path(task["out"]).with_suffix(".events").read_text())
    new = {*found["modules"], *map(tuple, found["worlds"])} - learned - {*sys.modules}
    if not new:
        return
    learned.update(new)
    for each in new:
        with contextlib.suppress(Exception):  # what only its package can import
            importlib.import_module(each) if isinstance(each, str) else small_world(*each)
    if world := sys.modules.get("firth.datasets.world"):
        next(world.default_world().annotated_documents(1))  # its grammar takes longer than a run
    gc.collect()
    gc.freeze()  # what stays is not looked through, and so not copied, by the processes to come


def run_command(arguments: list[str]) -> None:
    """Run a command of firth; if it fails, the process ends with its exit code."""
    sys.argv, sys.stdout = ["firth", *arguments], sys.stderr  # standard output is for the answers
    try:
        firth.cli.main.run()
    except SystemExit as end:
        if end.code:
            sys.stderr.flush()
            os._exit(int(end.code))


def fork(task: dict[str, Any]) -> int:
    """Begin a task in a process of its own."""
    process = os.fork()
    if process == 0:
        try:
            child(task)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return process


def run(tasks: list[dict[str, Any]]) -> list[int]:
    """Do all tasks at once; the wait statuses."""
    statuses = [os.waitpid(process, 0)[1] for process in [fork(task) for task in tasks]]
    if not any(statuses):
        learn(tasks[0])
    return statuses


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
