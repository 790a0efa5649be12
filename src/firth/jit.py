"""Just-in-time compilation with numba: kernels that release the GIL and are cached on disk, compile times, threads.

A kernel calls only kernels of its own file: numba's cache notices a change of that file, not of files it calls into.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from time import perf_counter

import numba
from numba.core import event

from firth.datasets.token_cache import default_cache

_FAST = {"reassoc", "contract"}  # sums may be reordered and fused; NaN and infinity keep their meaning
_LOCK = Lock()


def kernel(function: Callable, parallel: bool = False) -> Callable:
    """The function compiled by numba at its first call; `kernel.py_func` is the Python function. With `parallel`, loops
    over `numba.prange` are divided among threads."""
    with _LOCK, _cache_dir(_kernel_folder()) as cached:
        return numba.njit(function, nogil=True, fastmath=_FAST, cache=cached, error_model="numpy", parallel=parallel)


def inline_kernel(function: Callable) -> Callable:
    """A function inlined into each kernel that calls it: passing arrays can cost more than the work itself."""
    return numba.njit(function, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")


@contextmanager
def _cache_dir(folder: Path | None) -> Iterator[bool]:
    """Within this context numba caches compiled code in the folder; other users of numba are not affected."""
    before = numba.config.CACHE_DIR
    if folder:
        numba.config.CACHE_DIR = str(folder)
    try:
        yield bool(folder or before)
    finally:
        numba.config.CACHE_DIR = before


def _kernel_folder() -> Path | None:
    """The cache folder of compiled kernels; None if the user set NUMBA_CACHE_DIR or no private folder is available."""
    if numba.config.CACHE_DIR:
        return None
    folder = default_cache() / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_private(folder) and os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:  # a read-only or missing home: compile in every process instead
        return None


def _is_private(folder: Path) -> bool:
    """Whether nobody else can write to the folder: its content is executed."""
    if not hasattr(os, "getuid"):
        return True
    state = folder.stat()
    return state.st_uid == os.getuid() and not state.st_mode & 0o022


# --- compile time ---------------------------------------------------------------------------------------------------


class CompileTimer(event.Listener):
    """Seconds spent compiling so far, nested kernels counted once; zero if all came from the cache."""

    def __init__(self) -> None:
        self.seconds, self._start_times = 0.0, []

    def on_start(self, event: event.Event) -> None:
        """A kernel starts to compile."""
        self._start_times.append(perf_counter())

    def on_end(self, event: event.Event) -> None:
        """The kernel is compiled; numba compiles one at a time."""
        start_time = self._start_times.pop()
        if not self._start_times:
            self.seconds += perf_counter() - start_time


@contextmanager
def time_compilation() -> Iterator[CompileTimer]:
    """Measures how long kernels compile within this context."""
    listener = CompileTimer()
    with event.install_listener("numba:compile", listener):
        yield listener


# --- threads --------------------------------------------------------------------------------------------------------


def default_threads() -> int:
    """The number of CPUs available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def can_run_parallel() -> bool:
    """Whether parallel kernels are safe: numba's fallback threading layer aborts if two threads call one at once."""
    try:
        from numba.np.ufunc import omppool  # noqa: F401
    except ImportError:
        return False
    return True


class Autotuner:
    """Calls the fastest of several equivalent implementations; timing trials are repeated periodically."""

    TRIAL, ROUND = 32, 2048  # calls in one implementation's trial; calls between the starts of two rounds of trials

    def __init__(self, *implementations: Callable[..., None]) -> None:
        self._implementations, self._calls, self._best = implementations, 0, 0
        self._seconds = [0.0] * len(implementations)  # per unit of work, summed over the calls of a trial

    def __call__(self, work: int, *arguments: object) -> None:
        """`work` is the amount of work of this call, in any unit."""
        trial, call = divmod(self._calls % self.ROUND, self.TRIAL)
        self._calls += 1
        if trial >= len(self._implementations):
            self._implementations[self._best](*arguments)
            return
        start_time = perf_counter()
        self._implementations[trial](*arguments)
        # the first call may load a kernel or start its threads
        self._seconds[trial] = self._seconds[trial] + (perf_counter() - start_time) / work if call else 0.0
        if call == self.TRIAL - 1:
            self._best = min(range(trial + 1), key=self._seconds.__getitem__)


def run_in_order(work: Callable, tasks: list, threads: int) -> Iterator:
    """Map over the tasks with a thread pool, results in order; at most `threads` results are pending at any time."""
    if threads < 2 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(work, task) for task in tasks[:threads]]
        for task in tasks[threads:]:
            result = pending.pop(0).result()
            pending.append(pool.submit(work, task))
            yield result
            del result  # not held while the next one is awaited
        while pending:
            yield pending.pop(0).result()
