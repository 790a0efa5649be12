"""Faults of the machine, for every preset: little memory, slow disks, two trainers in one folder, one empty cache for
four runs. Afterwards, or after the same command once more, the bytes are those of an undisturbed run."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, Part, Row, make_row, note
from benchmarks.kills import for_each, load_crash

MEMORY = (22, 29)  # of the process beyond what it has at its start, in powers of 2
DELAY = 0.02  # seconds for each operation on a file
SHARING = 4
# The last line of a process: ours, or that of a library which ends the process itself; the last is of Rust's libraries,
# after "memory allocation of … bytes failed".
NO_MEMORY = (
    "out of memory", "OpenBLAS error: Memory allocation", "memory allocation of", "skipping backtrace printing",
)  # fmt: skip


def little_memory(harness: Any, run: str, rng: random.Random) -> str:
    """The process is refused memory at some place: it ends with one line, and a second one goes on."""
    settings = (f"{path}={str(value).lower()}" for path, value in harness.settings.items())
    options = [word for setting in settings for word in ("--set", setting)]
    text = ["--text", harness.text] if harness.text else []
    command = ["train", harness.name, "--out", str(harness.folder / run), "--quiet", *text, *options]
    more, said = int(2 ** rng.uniform(*MEMORY)), harness.folder / f"{run}.stderr"
    code = os.waitstatus_to_exitcode(harness.run(run, command=command, memory=more, stderr=str(said)))
    last = said.read_text(errors="replace").strip().rpartition("\n")[2]
    if code != 0 and ("internal error" in last or not any(each in last for each in NO_MEMORY)):
        return f"with {more:,} bytes more: code {code}: {last[:300]}"
    return "" if harness.run(run) == 0 else "it does not go on"


def slow_disk(harness: Any, run: str, rng: random.Random) -> str:
    """Each operation on a file takes long."""
    return "" if harness.run(run, slow=DELAY) == 0 else "it failed"


def two_trainers(harness: Any, run: str, rng: random.Random) -> str:
    """Two processes train in one folder: one of them is refused, or finds the run done."""
    return "" if 0 in harness.run_together([run, run], stderr=os.devnull) else "both failed"


def shared_cache(harness: Any, run: str, rng: random.Random) -> str:
    """Four processes fill one cache."""
    names = [run, *(f"{run}-{number}" for number in range(1, SHARING))]
    if any(harness.run_together(names, cache=str(harness.folder / f"{run}-cache"))):
        return "one failed"
    return "" if all(harness.outcome(name) == harness.expected for name in names) else "other bytes"


FAULTS: dict[str, Callable[[Any, str, random.Random], str]] = {
    "memory": little_memory,
    "slow-disk": slow_disk,
    "two-trainers": two_trainers,
    "shared-cache": shared_cache,
}


def _campaign(fault: str, harness: Any, name: str, times: int, rng: random.Random) -> Row:
    """How many of the runs with a fault ended with the same bytes."""
    harness.start()
    held = 0
    for number in range(times):
        run = f"{fault}-{number}"
        broke = FAULTS[fault](harness, run, rng)
        if not broke and harness.outcome(run) != harness.expected:
            broke = "other bytes"
        if broke:
            note(f"{name}, {run}: {broke}")
        held += not broke
        for path in harness.folder.glob(f"{run}*"):
            shutil.rmtree(path) if path.is_dir() else Path(path).unlink()
    return make_row(name, held, times, "runs", 1.0, quality=True)


def _part(fault: str, options: Options) -> Iterator[Row]:
    crash = load_crash()
    times = options.choose(1, 4) if fault == "memory" else 1
    yield from for_each(options, partial(_campaign, fault), crash.Harness, crash.SIZES, times)


PARTS: dict[str, Part] = {fault: partial(_part, fault) for fault in FAULTS}
