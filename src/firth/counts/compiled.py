"""Loops compiled by numba: without the interpreter's lock, and kept in a private folder so that each compiles once.

A kernel calls only kernels of its own file: numba notices a change of the file it keeps, not of what that calls.
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

from firth.data.cache import default_cache

_FAST = {"reassoc", "contract"}  # sums may be reordered and fused; NaN and infinity keep their meaning
_LOCK = Lock()


def kernel(function: Callable, shared: bool = False) -> Callable:
    """The function compiled when it is first called; `kernel.py_func` is the plain one. Of one that is `shared`, loops
    over `numba.prange` are divided among threads."""
    with _LOCK, _kept_in(_folder()) as kept:
        return numba.njit(function, nogil=True, fastmath=_FAST, cache=kept, error_model="numpy", parallel=shared)


def part(function: Callable) -> Callable:
    """A piece that is written into each kernel that calls it: passing arrays on can cost more than the work itself."""
    return numba.njit(function, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")


@contextmanager
def _kept_in(folder: Path | None) -> Iterator[bool]:
    """While it lasts, numba keeps what it compiles in this folder; other users of numba are not affected."""
    before = numba.config.CACHE_DIR
    if folder:
        numba.config.CACHE_DIR = str(folder)
    try:
        yield bool(folder or before)
    finally:
        numba.config.CACHE_DIR = before


def _folder() -> Path | None:
    """Where compiled kernels go; None where the user chose (NUMBA_CACHE_DIR) or no private folder can be had."""
    if numba.config.CACHE_DIR:
        return None
    folder = default_cache() / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _private(folder) and os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:  # a read-only or missing home: compile in every process instead
        return None


def _private(folder: Path) -> bool:
    """Whether nobody else can write there: what it holds is run."""
    if not hasattr(os, "getuid"):
        return True
    state = folder.stat()
    return state.st_uid == os.getuid() and not state.st_mode & 0o022


# --- what compiling costs -------------------------------------------------------------------------------------------


class Compiling(event.Listener):
    """Seconds spent compiling so far, kernels within kernels counted once; zero where all were kept from before."""

    def __init__(self) -> None:
        self.seconds, self._begun = 0.0, []

    def on_start(self, event: event.Event) -> None:
        """A kernel begins to compile."""
        self._begun.append(perf_counter())

    def on_end(self, event: event.Event) -> None:
        """It is compiled; numba compiles one at a time."""
        begun = self._begun.pop()
        if not self._begun:
            self.seconds += perf_counter() - begun


@contextmanager
def timed_compiling() -> Iterator[Compiling]:
    """Notes how long kernels compile while it lasts."""
    listener = Compiling()
    with event.install_listener("numba:compile", listener):
        yield listener


# --- threads --------------------------------------------------------------------------------------------------------


def default_threads() -> int:
    """As many as there are processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def can_share() -> bool:
    """Whether there are threads for shared kernels: numba's last resort ends the process if two are called at once."""
    try:
        from numba.np.ufunc import omppool  # noqa: F401
    except ImportError:
        return False
    return True


class Quicker:
    """Does something in the quicker of several ways, which are tried by turns again and again."""

    TRIAL, ROUND = 32, 2048  # calls that each way is tried for, at the start of so many calls

    def __init__(self, *ways: Callable[..., None]) -> None:
        self._ways, self._calls, self._best = ways, 0, 0
        self._spent = [0.0] * len(ways)  # seconds for each unit of work, summed over the calls of a trial

    def __call__(self, work: int, *given: object) -> None:
        """`work` says how much there is to do, in any unit."""
        turn, place = divmod(self._calls % self.ROUND, self.TRIAL)
        self._calls += 1
        if turn >= len(self._ways):
            self._ways[self._best](*given)
            return
        began = perf_counter()
        self._ways[turn](*given)
        # the first call may load a kernel or wake its threads
        self._spent[turn] = self._spent[turn] + (perf_counter() - began) / work if place else 0.0
        if place == self.TRIAL - 1:
            self._best = min(range(turn + 1), key=self._spent.__getitem__)


def run_in_order(work: Callable, tasks: list, threads: int) -> Iterator:
    """The results in the tasks' order; never more than `threads` are under way or waiting to be taken."""
    if threads < 2 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        under_way = [pool.submit(work, task) for task in tasks[:threads]]
        for following in tasks[threads:]:
            done = under_way.pop(0).result()
            under_way.append(pool.submit(work, following))
            yield done
            del done
        while under_way:
            yield under_way.pop(0).result()
