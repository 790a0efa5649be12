"""Fuzzing of every reader: whatever the file, the result is a value or one FirthError of one line.

`python -m benchmarks.fuzz blind SECONDS [TARGET …]` changes good files by their structure, all targets in turn; it
keeps what it finds, and counts, in the folder `FUZZ` (or a temporary one). With `atheris` coverage guides the search:
`guided SECONDS`. `python -m benchmarks.fuzz FILE` reads a kept input once more.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from benchmarks import fuzz_search, fuzz_targets
from benchmarks.fuzz_search import Finding, Guard, Search, State, Target
from benchmarks.harness import ROOT, Options, Part, Row, is_installed, make_row, note

KEPT = Path(os.environ.get("FUZZ") or Path(tempfile.gettempdir(), "fuzz-found"))
MEMORY_FOLDER = Path("/dev/shm")  # files in memory, where the system has them
SLICE = 20.0  # seconds of one target before the next one's turn
GUIDED = ("formats", "texts", "tables", "tokenizers", "recipes", "settings")  # code that atheris can instrument


def make_folder() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, in memory if possible; all that readers write of their own goes there too."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None)
    own = Path(folder.name, "own")
    own.mkdir()
    os.environ.update(FIRTH_CACHE=str(own), TMPDIR=str(own), TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
    tempfile.tempdir = str(own)
    return folder


# --- blind ----------------------------------------------------------------------------------------------------------


def search_blind(seconds: float, names: Sequence[str], folder: Path) -> int:
    """Search the targets in turn for so many seconds, in which making good files does not count; the findings."""
    KEPT.mkdir(parents=True, exist_ok=True)
    share = min(SLICE, seconds / len(names))
    counts = read_counts()
    for name in islice(cycle(names), round(seconds / share)):
        entry = counts.setdefault(name, {"inputs": 0, "values": 0, "errors": 0, "unexpected": [], "seconds": 0.0})
        search_in_child(name, folder, share, entry)
        partial = Path(KEPT, "counts.json.new")
        partial.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
        partial.replace(KEPT / "counts.json")
    return sum(len(entry["unexpected"]) for entry in counts.values())


def read_counts() -> dict[str, dict]:
    """The counts of earlier searches in the same folder, which go on."""
    path = KEPT / "counts.json"
    return json.loads(path.read_text()) if path.is_file() else {}


def search_in_child(name: str, folder: Path, seconds: float, entry: dict) -> None:
    """Search one target in a process of its own, which may hang or die; add to its counts."""
    target = fuzz_targets.load(name, folder)  # in this process: it happens once
    state, began = State(), time.monotonic()
    child = os.fork()
    if not child:
        _search_and_leave(name, target, folder, state, seconds)
    died = _wait(child, state, seconds)
    if died:
        given, content = state.current()
        path = fuzz_search.save(Finding(f"{died} in {given}", given, content, died), name, KEPT)
        entry["unexpected"] = sorted({*entry["unexpected"], path.name})
    inputs, values, errors = state.counts()
    kept = {path.stem for path in KEPT.glob(f"{name}-*.txt")}
    entry["inputs"] += inputs
    entry["values"] += values
    entry["errors"] += errors
    entry["seconds"] = round(entry["seconds"] + time.monotonic() - began, 1)
    entry["unexpected"] = sorted({*entry["unexpected"], *kept})


def _search_and_leave(name: str, target: Target, folder: Path, state: State, seconds: float) -> None:
    """The whole life of the child."""
    status = 1
    try:
        log = os.open(KEPT / "stderr.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 2)
        os.chdir(folder / "own")
        fuzz_search.limit_process()
        keep = partial(fuzz_search.save, target=name, kept=KEPT)
        Search(target, folder, state, keep, Guard(folder, KEPT)).run(seconds, time.time_ns())
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _wait(child: int, state: State, seconds: float) -> str:
    """How the child ended, if not well; it is killed when it stays with one input for too long."""
    last, since, ends = -1, time.monotonic(), time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        now = time.monotonic()
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"the process died of {signal.Signals(-code).name}" if code < 0 else "it exited"
        if state.counts()[0] != last:
            last, since = state.counts()[0], now
        if now - since > fuzz_search.MAX_SILENCE or now > ends + 20 * fuzz_search.MAX_SILENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"no answer for {fuzz_search.MAX_SILENCE:.0f} s"
        time.sleep(0.05)


# --- guided by coverage -----------------------------------------------------------------------------------------------


def search_guided(seconds: float, names: Sequence[str], folder: Path) -> None:
    """Let atheris search; the first byte of an input chooses its good file. It ends the process, with a status other
    than 0 if it finds something."""
    import atheris

    with atheris.instrument_imports(include=["firth.datasets", "firth.config", "firth.tokenizers"]):
        targets = {name: fuzz_targets.load(name, folder) for name in names}
    seeds = [(name, key, content) for name, target in targets.items() for key, content in target.seeds.items()][:256]
    search = {name: Search(target, folder, State(), print) for name, target in targets.items()}

    def read(data: bytes) -> None:
        name, key, _ = seeds[(data[0] if data else 0) % len(seeds)]
        answer = search[name].answer(key, data[1:])
        if isinstance(answer, Finding):
            KEPT.mkdir(parents=True, exist_ok=True)
            raise AssertionError(f"{answer.key}: {fuzz_search.save(answer, name, KEPT)}")

    corpus = folder / "corpus"
    corpus.mkdir()
    for number, (_, _, content) in enumerate(seeds):
        (corpus / str(number)).write_bytes(bytes([number]) + content)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)  # libFuzzer has a limit of its own
    limits = [f"-max_total_time={seconds:.0f}", f"-timeout={fuzz_search.MAX_SILENCE:.0f}", "-max_len=4096"]
    limits += [f"-rss_limit_mb={4096}", f"-artifact_prefix={folder}/", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], str(corpus), *limits], read)
    atheris.Fuzz()


# --- the parts --------------------------------------------------------------------------------------------------------


def blind(options: Options) -> Iterator[Row]:
    """Good files changed by their structure: a row for each target."""
    names = list(fuzz_targets.TARGETS)
    seconds = options.choose(5, 30)
    with tempfile.TemporaryDirectory() as kept:
        command = [sys.executable, "-m", "benchmarks.fuzz", "blind", str(seconds * len(names))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "FUZZ": kept}
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, errors="replace")
        path = Path(kept, "counts.json")
        counts = json.loads(path.read_text()) if path.is_file() else {}
        if not counts:
            note(f"no search: {done.stderr[-300:]}")
        for file in Path(kept).glob("*.txt"):
            note("\n  ".join(file.read_text(errors="replace").split("\n")[:3]))
    for name, entry in counts.items():
        failed = len(entry["unexpected"])
        title = f"{name}: inputs with a value or one line ({entry['values']:,} values)"
        yield make_row(title, entry["inputs"] - failed, entry["inputs"], "inputs", 1.0, quality=True)


def guided(options: Options) -> Iterator[Row]:
    """Guided by coverage."""
    if not is_installed("atheris"):
        return
    command = [sys.executable, "-m", "benchmarks.fuzz", "guided", str(options.choose(20, 120)), *GUIDED]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, errors="replace")
    counts = [int(number) for number in re.findall(r"number_of_executed_units: (\d+)", done.stdout + done.stderr)]
    count, failed = max(counts, default=1), done.returncode != 0
    if failed:
        note(f"a reader failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    name = "guided by coverage: inputs with a value or one line"
    yield make_row(name, count - failed, count, "inputs", 1.0, quality=True)


PARTS: dict[str, Part] = {"blind": blind, "guided": guided}


def read_again(path: Path, folder: Path) -> None:
    """Read a kept input without any net under it."""
    target, name, content = path.read_bytes().split(b"\n", 2)
    loaded = fuzz_targets.load(target.decode(), folder)
    fuzz_search.limit_process()
    loaded.read(folder, name.decode(), content)


def main() -> None:
    """`blind SECONDS [TARGET …]`, `guided SECONDS [TARGET …]` or a kept file."""
    if len(sys.argv) < 2:
        raise SystemExit(f"{__doc__}\nTargets: {', '.join(fuzz_targets.TARGETS)}")
    with make_folder() as name:
        if sys.argv[1] in PARTS:
            search = {"blind": search_blind, "guided": search_guided}[sys.argv[1]]
            found = search(float(sys.argv[2]), sys.argv[3:] or list(fuzz_targets.TARGETS), Path(name))
            sys.exit(1 if found else 0)
        read_again(Path(sys.argv[1]), Path(name))


if __name__ == "__main__":
    main()
