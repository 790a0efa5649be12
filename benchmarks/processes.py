"""Programs in processes of their own, which work in turn: load time, warm-up, steady state and peak memory of each."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

from benchmarks.harness import QUIET, ROOT, Measurement, Settings, is_installed, note

THREAD_VARIABLES = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA", "RAYON"))
PAUSE = 0.25  # seconds between rounds: idle OpenMP threads of the program before spin for 0.2


@dataclass(frozen=True)
class Program:
    """A program of a comparison: `prepare(settings, **arguments)` returns what one round does, in a new process."""

    prepare: Callable[..., Callable[..., Any]]  # a function at the top of its module
    settings: Settings
    package: str = ""  # the peer's package, or its command; empty: ours
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """What a round returns that has measured itself."""

    seconds: float
    result: Any = None


class WorkerError(Exception):
    """A program's process ended before its time; with what it printed on standard error."""

    def __init__(self, printed: str) -> None:
        super().__init__((printed.strip().splitlines() or ["no message"])[-1])
        self.printed = printed


class Worker:
    """A program's process: it prepares, then answers each case on standard input with what a round took."""

    def __init__(self, program: Program, arguments: Mapping[str, Any]) -> None:
        threads = dict.fromkeys(THREAD_VARIABLES, str(program.settings.threads))
        task = {"settings": asdict(program.settings), "arguments": dict(arguments)}
        name = f"{program.prepare.__module__}:{program.prepare.__qualname__}"
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", name, json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, **QUIET, **threads, **program.environment},
        )
        self._answer()
        self.load = time.perf_counter() - began

    def round(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Seconds of one round, the peak memory so far in MB, and what the round returned."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(dict(case)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # no answer either
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if line := self.process.stdout.readline():
            return dict(json.loads(line))
        self.process.wait()
        self.errors.seek(0)
        raise WorkerError(self.errors.read() or f"status {self.process.returncode}")

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Comparison:
    """Programs that run at the same time and work in turn, all with the same arguments and cases."""

    def __init__(self, programs: Mapping[str, Program], **arguments: Any) -> None:
        self.programs, self.workers = programs, dict[str, Worker]()
        for name, program in programs.items():
            if not program.package or is_installed(program.package):
                with self._excuse_peer(name):
                    self.workers[name] = Worker(program, arguments)

    @contextmanager
    def _excuse_peer(self, name: str) -> Iterator[None]:
        """A peer that fails is left out with a note; if ours fails, the benchmark does."""
        try:
            yield
        except WorkerError as error:
            if not self.programs[name].package:
                raise SystemExit(f"{error.printed}\nbenchmarks: {name} failed: {error}") from error
            note(f"{name} failed, its rows have no peer: {error}")
            self.workers.pop(name, None)

    def measure(self, rounds: int, **case: Any) -> dict[str, Measurement]:
        """One round of each to warm up, then so many in turn; programs that are missing or fail are not in it."""
        answers: dict[str, list[dict[str, Any]]] = {name: [] for name in self.workers}
        for _ in range(rounds + 1):
            for name, worker in list(self.workers.items()):
                time.sleep(PAUSE)
                with self._excuse_peer(name):
                    answers[name].append(worker.round(case))
        return {name: self._measurement(name, worker.load, answers[name]) for name, worker in self.workers.items()}

    def _measurement(self, name: str, load: float, answers: list[dict[str, Any]]) -> Measurement:
        warmup, *steady = answers
        times = tuple(answer["seconds"] for answer in steady)
        last = answers[-1]
        return Measurement(self.programs[name].settings, times, warmup["seconds"], load, last["memory"], last["result"])

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self.workers.values():
            worker.close()


def compare(programs: Mapping[str, Program], rounds: int, **arguments: Any) -> dict[str, Measurement]:
    """Measurements of programs by name, in turn, of one case; peers that are missing or fail are not in it."""
    with Comparison(programs, **arguments) as comparison:
        return comparison.measure(rounds)


def compare_cold(programs: Mapping[str, Program], rounds: int, **arguments: Any) -> dict[str, Measurement]:
    """The same with new processes in every round, whose time is that from their start to the end of the first work."""
    runs = [compare(programs, 0, **arguments) for _ in range(rounds)]
    measured = {}
    for name in set.intersection(*(set(run) for run in runs)):
        mine = [run[name] for run in runs]
        times = tuple(run.load + run.warmup for run in mine)
        memory = statistics.median(run.memory for run in mine if run.memory is not None)
        measured[name] = Measurement(mine[0].settings, times, memory=memory, result=mine[-1].result)
    return measured
