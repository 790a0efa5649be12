"""Ours beside its peers: interleaved rounds, steady state apart from loading and warm-up, medians and their ratios.

Rules: every program of a comparison gets the same arguments and threads; two programs are compared only at the same
settings (precision, threads, clock), unless the row names the faster mode of ours that it shows; a peer that is not
installed, or that fails, leaves a row without a peer and a note on standard error.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
QUIET = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
_noted: set[str] = set()


def note(text: str) -> None:
    """Print a note on standard error, once."""
    if text not in _noted:
        _noted.add(text)
        print(f"note: {text}", file=sys.stderr, flush=True)


def import_file(path: Path) -> ModuleType:
    """A module that is no part of a package, such as a helper of the tests."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- rows of the table --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A measurement of ours beside a peer's; a ratio above 1 means that ours is better."""

    name: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: float | None  # of the ratio
    unit: str
    quality: bool = False  # compares quality, not speed

    def __str__(self) -> str:
        numbers = (self.ours, self.peer, self.ratio, self.target)
        shown = [_show(number).rjust(width) for number, width in zip(numbers, (12, 12, 7, 7), strict=True)]
        return f"  {self.name:86} {' '.join(shown)} {self.unit}"


def _show(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def make_row(
    name: str,
    ours: float,
    peer: float | None,
    unit: str,
    target: float | None = None,
    *,
    lower_is_better: bool = False,
    quality: bool = False,
) -> Row:
    """A row of two values."""
    above, below = (peer, ours) if lower_is_better else (ours, peer)
    ratio = None if above is None or below is None else above / below if below else None
    return Row(name, ours, peer, ratio, target, unit, quality)


# --- options and settings -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """How much to measure, and where files are."""

    data: Path  # the folder of the public data sets; it may be missing
    folder: Path  # for temporary files
    quick: bool = False
    threads: int = 1
    kept: frozenset[str] = frozenset()  # names of rows that an earlier run has measured: of campaigns that take hours
    models: Path | None = None  # where trained models are kept for the next run; None: nowhere

    def choose(self, quick: Any, full: Any) -> Any:
        """The first value in quick runs, else the second."""
        return quick if self.quick else full


Part = Callable[[Options], Iterator[Row]]


@dataclass(frozen=True)
class Settings:
    """What two programs must share to be compared."""

    threads: int
    precision: str = "float32"  # of the weights or of the arithmetic: float32, bf16, float16, int8
    clock: Literal["wall", "cpu"] = "wall"  # cpu: processor time, for one thread on a busy machine


@dataclass(frozen=True)
class Measurement:
    """What one program took: loading, the first round (warm-up), and each round of the steady state."""

    settings: Settings
    rounds: tuple[float, ...]  # seconds
    warmup: float = 0.0  # seconds
    load: float = 0.0  # seconds from the start of the process until it is ready
    memory: float | None = None  # peak resident memory of the process in MB
    result: Any = None  # of the last round

    @property
    def seconds(self) -> float:
        """The median round."""
        return statistics.median(self.rounds)


def median_ratio(ours: Measurement, peer: Measurement) -> float:
    """How many times faster ours is: the median over pairs of neighbouring rounds."""
    return statistics.median(slow / fast for fast, slow in zip(ours.rounds, peer.rounds, strict=True))


def check_settings(name: str, ours: Settings, peer: Settings, mode: str) -> str:
    """The name of the row; settings that differ are refused unless `mode` names what ours does otherwise."""
    if ours == peer:
        return name
    if not mode:
        raise ValueError(
            f"{name}: {ours} against {peer}; compare at the same settings, or name the faster mode of ours"
        )
    return f"{name} [faster mode: {mode}]"


def speed_row(
    name: str,
    ours: Measurement,
    peer: Measurement | None,
    amount: float,
    unit: str,
    target: float | None = None,
    mode: str = "",
) -> Row:
    """So much work per second in the steady state, and the median ratio over rounds."""
    if peer is None:
        return Row(name, amount / ours.seconds, None, None, target, unit)
    name = check_settings(name, ours.settings, peer.settings, mode)
    return Row(name, amount / ours.seconds, amount / peer.seconds, median_ratio(ours, peer), target, unit)


def memory_row(name: str, ours: Measurement, peer: Measurement | None, target: float | None = None) -> Row:
    """Peak memory of the processes."""
    assert ours.memory is not None
    theirs = None if peer is None else peer.memory
    return make_row(f"{name}, peak memory", ours.memory, theirs, "MB", target, lower_is_better=True)


def load_row(name: str, ours: Measurement, peer: Measurement | None, target: float | None = None) -> Row:
    """Seconds from the start of the process to the end of the first round: imports, loading, compiling."""
    theirs = None if peer is None else peer.load + peer.warmup
    return make_row(f"{name}, load and first round", ours.load + ours.warmup, theirs, "s", target, lower_is_better=True)


def time_row(name: str, ours: Measurement, peer: Measurement | None, target: float | None = None) -> Row:
    """Seconds of a round, and the median ratio over rounds."""
    if peer is None:
        return Row(name, ours.seconds, None, None, target, "s")
    name = check_settings(name, ours.settings, peer.settings, "")
    return Row(name, ours.seconds, peer.seconds, median_ratio(ours, peer), target, "s")


# --- in this process ----------------------------------------------------------------------------------------------


def is_installed(name: str) -> bool:
    """Whether a peer's package, or its command, is there; a note if not."""
    if importlib.util.find_spec(name) is not None or shutil.which(name):
        return True
    note(f"{name} is not installed: its rows have no peer (Python packages: pip install 'firth[benchmarks]')")
    return False


def interleave(works: Mapping[str, Callable[[], Any]], settings: Settings, rounds: int) -> dict[str, Measurement]:
    """Each work in turn, in this process: once to warm up, then so many rounds."""
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[settings.clock]
    times: dict[str, list[float]] = {name: [] for name in works}
    results: dict[str, Any] = {}
    for _ in range(rounds + 1):
        for name, work in works.items():
            began = clock()
            results[name] = work()
            times[name].append(clock() - began)
    return {
        name: Measurement(settings, tuple(taken), warmup, result=results[name])
        for name, (warmup, *taken) in times.items()
    }
