"""The search of one target in a process of its own: inputs tried under limits of time, memory and files written.

An input is a named good file that was changed. The reader gives a value or one `FirthError` of one line; anything else
is a finding, kept once for each place it comes from, as small as a few hundred attempts make it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import random
import re
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz_mutations import mutate

MAX_SECONDS = 5.0  # of processor time for one input
MAX_SILENCE = 60.0  # seconds of the clock without a new input, after which the process is ended
MAX_MEMORY = 1 << 30  # bytes that reading may add to the process
MAX_FILE = 1 << 26  # bytes of a file that is written
MAX_INPUT = 1 << 20  # bytes
POOL = 400  # inputs to change that are kept, besides the good ones
TEXT = "The red boat left at noon.\n\nIt came back – late, as “boats” do: 3.5 hours!\r\nNaïve café, 東京 and عربي.\n"
MINIMISE = 300  # attempts to make a finding smaller
_SHOWN_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HEADER = struct.Struct("<QQQQQ")  # inputs, values, errors, bytes of the name, bytes of the content
_WRITES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")
_FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "pickle.find_class")


@dataclass(frozen=True)
class Target:
    """Good inputs by name, and what reads one: `read(folder, name, content)`.

    Files that stand beside the one that is read are in the folder `beside`, under the names of their inputs; a process
    writes them anew, since the one before it may have died over a changed one.
    """

    seeds: Mapping[str, bytes]
    read: Callable[[Path, str, bytes], Any]
    beside: Path | None = None

    def restore(self) -> None:
        """Write the files again that stand beside others."""
        for name, content in self.seeds.items() if self.beside else ():
            path = self.beside / name
            path.unlink(missing_ok=True)  # not written in place: a reader may have mapped it into memory
            path.write_bytes(content)


def exhaust(records: Iterable[Any]) -> None:
    """Read all there is."""
    for _ in records:
        pass


def put(folder: Path, name: str, content: bytes) -> Path:
    """The content as a file."""
    path = folder / name
    path.write_bytes(content)
    return path


@dataclass(frozen=True)
class Finding:
    """An input whose result is neither a value nor one line."""

    key: str  # what went wrong, and where
    name: str
    content: bytes
    trace: str


class TooSlowError(BaseException):
    """More processor time than an input may take."""


class State:
    """The counts and the input that is being read, in memory that outlives the process."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _HEADER.size + 4096 + MAX_INPUT)
        self.inputs = self.values = self.errors = 0

    def begin(self, name: str, content: bytes) -> None:
        """Say what is read next."""
        self.inputs += 1
        encoded = name.encode()
        _HEADER.pack_into(self.memory, 0, self.inputs, self.values, self.errors, len(encoded), len(content))
        self.memory[_HEADER.size : _HEADER.size + len(encoded) + len(content)] = encoded + content

    def counts(self) -> tuple[int, int, int]:
        """Inputs, values and errors so far, from any process."""
        inputs, values, errors, _, _ = _HEADER.unpack_from(self.memory, 0)
        return inputs, values, errors

    def current(self) -> tuple[str, bytes]:
        """The input that was read last."""
        *_, name, size = _HEADER.unpack_from(self.memory, 0)
        start = _HEADER.size + name
        return self.memory[_HEADER.size : start].decode(), self.memory[start : start + size]


class Guard:
    """Watches what a reader does besides reading; once for a process, since a hook stays."""

    def __init__(self, *folders: Path) -> None:
        self.allowed = (*(str(folder.resolve()) + os.sep for folder in folders), os.devnull)
        self.broken = ""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._check(event, path)
        elif event in _WRITES:
            self._check(event, arguments[0])
        elif event in _FORBIDDEN and not str(arguments[0]).startswith("numba"):  # which pickles what it compiled
            self.broken = f"{event} {arguments[:2]!r:.200}"

    def _check(self, event: str, path: Any) -> None:
        if isinstance(path, (str, bytes, os.PathLike)):
            full = os.path.realpath(os.fsdecode(path))
            if not full.startswith(self.allowed):
                self.broken = f"{event} outside of the folder: {full}"


def limit_process() -> None:
    """No more memory than now and the limit; no large files; no core; a signal after so much processor time."""
    status = Path("/proc/self/status").read_text()
    used = int(re.search(r"VmData:\s+(\d+)", status)[1]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + MAX_MEMORY, used + MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, _too_slow)


def _too_slow(number: int, frame: Any) -> None:
    raise TooSlowError(f"more than {MAX_SECONDS:.0f} s of processor time")


@dataclass
class Search:
    """A search of one target."""

    target: Target
    folder: Path
    state: State
    keep: Callable[[Finding], Any]
    guard: Guard | None = None
    known: set[str] = field(default_factory=set)  # what was found already
    answers: set[str] = field(default_factory=set)

    def run(self, seconds: float, seed: int) -> None:
        """Change good inputs, and those with new answers, until the time is over."""
        rng, end = random.Random(seed), time.monotonic() + seconds
        seeds = list(self.target.seeds.items())
        pool: list[tuple[str, bytes]] = []
        self.target.restore()
        for name, content in seeds:
            self.attempt(name, content)
        while time.monotonic() < end:
            name, content = rng.choice(pool if pool and rng.random() < 0.5 else seeds)
            changed = mutate(rng, content, rng.choice(seeds)[1])[:MAX_INPUT]
            if self.attempt(name, changed):
                pool = [*pool[-POOL:], (name, changed)]

    def attempt(self, name: str, content: bytes) -> bool:
        """Read one input, and keep what it finds; whether the answer is a new one."""
        self.state.begin(name, content)
        answer = self.answer(name, content)
        if isinstance(answer, Finding):
            if answer.key not in self.known:
                self.known.add(answer.key)
                self.keep(answer)
                self.keep(self.minimise(answer))
            return False
        is_new = answer not in self.answers
        self.answers.add(answer)
        if answer == f"{name}: value":
            self.state.values += 1
        else:
            self.state.errors += 1
        return is_new

    def answer(self, name: str, content: bytes) -> str | Finding:
        """The kind of answer to an input: a value, the error without its particulars, or a finding."""
        from firth.errors import FirthError

        try:
            signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
            try:
                self.target.read(self.folder, name, content)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            answer = f"{name}: value"
        except FirthError as error:
            line = str(error)
            if not line or _SHOWN_CONTROL.search(line):
                return Finding(f"an error with control characters: {_place(error)}", name, content, repr(line))
            answer = f"{name}: " + re.sub(r"\d+|'[^']*'|\S*/\S*", "#", error.what)[:80]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Finding(_place(error), name, content, traceback.format_exc()[-6000:])
        if self.guard and self.guard.broken:
            broken, self.guard.broken = self.guard.broken, ""
            return Finding(re.sub(r"\d+", "#", broken)[:120], name, content, broken)
        return answer

    def minimise(self, finding: Finding) -> Finding:
        """The finding with as much of the input left out as a few attempts allow."""
        if finding.key.startswith("TooSlowError"):
            return finding
        content, size, left = finding.content, max(1, len(finding.content) // 2), MINIMISE
        while size and left:
            at = 0
            while at < len(content) and left:
                left -= 1
                shorter = content[:at] + content[at + size :]
                again = self.answer(finding.name, shorter)
                if isinstance(again, Finding) and again.key == finding.key:
                    content, finding = shorter, again
                else:
                    at += size
            size //= 2
        return finding


def _place(error: BaseException) -> str:
    """The kind of an exception and the innermost line of ours that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "firth" in frame.filename]
    where = next((f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames)), "")
    return f"{type(error).__name__} at {where}"


def save(finding: Finding, target: str, kept: Path) -> Path:
    """Keep a finding: a file that `python -m benchmarks.fuzz FILE` reads again, and a text beside it."""
    path = kept / f"{target}-{hashlib.sha256(finding.key.encode()).hexdigest()[:10]}"
    if not path.exists() or len(path.read_bytes()) > len(finding.content) + 200:
        path.write_bytes(f"{target}\n{finding.name}\n".encode() + finding.content)
        path.with_suffix(".txt").write_text(
            f"{finding.key}\n{target}: {finding.name}\n{finding.content[:400]!r}\n\n{finding.trace}\n", errors="replace"
        )
    return path
