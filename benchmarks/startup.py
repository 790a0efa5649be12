"""Startup: seconds and memory of imports and of `--help`, each in a new process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness import ROOT, Options, Part, Row, Settings, interleave, is_installed, make_row, time_row

PACKAGES = ("transformers", "gensim")  # beside ours
MEMORY = "import {}; from benchmarks.worker import peak_memory; print(peak_memory())"
COMMANDS = {  # the same by peers, where they have it
    "firth --help": ("transformers --help",),
    "firth train --help": (),
    "firth presets": (),
}


def run_python(code: str) -> str:
    """The output of a program."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def run_command(line: str) -> str:
    """The output of a command that is installed beside Python."""
    program, *arguments = line.split()
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compare(run: Callable[[str], str], ours: str, peers: Sequence[str], options: Options) -> Iterator[Row]:
    """Seconds of ours beside each peer's; alone if it has none."""
    present = [line for line in (ours, *peers) if is_installed(line.removeprefix("import ").split()[0])]
    measured = interleave({line: partial(run, line) for line in present}, Settings(1), options.choose(2, 9))
    for peer in peers or [""]:
        name = f"{ours}: {peer}" if peer else ours
        yield time_row(name, measured[ours], measured.get(peer), 1.0 if peer else None)


def imports(options: Options) -> Iterator[Row]:
    """Seconds and peak memory of `import firth` beside other libraries'."""
    yield from compare(run_python, "import firth", [f"import {name}" for name in PACKAGES], options)
    ours = float(run_python(MEMORY.format("firth")))
    for name in PACKAGES:
        peer = float(run_python(MEMORY.format(name))) if is_installed(name) else None
        yield make_row(f"import firth: import {name}, peak memory", ours, peer, "MB", 1.0, lower_is_better=True)


def commands(options: Options) -> Iterator[Row]:
    """Seconds of commands that only print."""
    for ours, peers in COMMANDS.items():
        yield from compare(run_command, ours, peers, options)


PARTS: dict[str, Part] = {"imports": imports, "commands": commands}
