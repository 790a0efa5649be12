"""Fuzzing of every reader of labelled data: whatever the file, the result is records or one FirthError.

With `atheris` coverage guides the search; a blind search changes good files at random. The file that breaks a reader is
kept; `python -m benchmarks.fuzz FILE` reads it once more.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.harness import ROOT, Options, Part, Row, import_file, is_installed, make_row, note

MAX_SECONDS = 20  # for one file
MAX_MEMORY = 2048  # MB of the whole process
MAX_SIZE = 4096  # bytes of a file
KEPT = Path(tempfile.gettempdir(), "fuzz-data-found")
TOKENS = [b"\n", b"\t", b" ", b"(", b")", b"[", b'"', b"{", b"0", b"-1", b"9" * 30, b"\xff", b"\0", b"1e999", b"\r\n"]


# --- the search, in a process of its own ---


def make_reader(folder: Path) -> tuple[Callable[[bytes], None], list[bytes]]:
    """What reads one input, whose first byte chooses the format, and good inputs to start from."""
    from firth.errors import FirthError

    samples = import_file(ROOT / "tests" / "datasets" / "readers" / "samples.py")
    cases = list(samples.CASES.values())

    def read(data: bytes) -> None:
        if not data:
            return
        case = cases[data[0] % len(cases)]
        try:
            for _ in case.format.read(case.lay(folder, data[1:])):
                pass
        except FirthError as error:
            if "\n" in str(error) or not str(error):
                raise AssertionError("an error that is not one line") from error

    return read, [bytes([number]) + case.good for number, case in enumerate(cases)]


def search_guided(seconds: int, folder: Path) -> None:
    """Let atheris search; it ends the process, with a status other than 0 if it finds something."""
    import atheris

    with atheris.instrument_imports(include=["firth.datasets", "firth.config"]):
        read, seeds = make_reader(folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    limits = [f"-max_total_time={seconds}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MEMORY}"]
    limits += [f"-max_len={MAX_SIZE}", f"-exact_artifact_path={KEPT}", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], str(corpus), *limits], read)
    atheris.Fuzz()


def search_blind(seconds: int, folder: Path) -> None:
    """Change good files at random until the time is over."""
    read, seeds = make_reader(folder)
    rng, end, count = random.Random(time.time_ns()), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutate(rng, bytearray(rng.choice(seeds)))
        count += 1
        try:
            read(data)
        except BaseException:
            KEPT.write_bytes(data)
            print(f"number_of_executed_units: {count}")
            raise
    print(f"number_of_executed_units: {count}")


def mutate(rng: random.Random, data: bytearray) -> bytes:
    """One to five insertions, deletions and repetitions."""
    for _ in range(rng.randint(1, 5)):
        start = rng.randint(1, len(data))
        stop = min(len(data), start + rng.randint(0, 12))
        data[start:stop] = rng.choice([rng.choice(TOKENS), rng.randbytes(2), bytes(data[start:stop]) * 2])
    return bytes(data)


# --- the parts ---


def _run(mode: str, options: Options) -> Iterator[Row]:
    seconds = options.choose(20, 120)
    command = [sys.executable, "-m", "benchmarks.fuzz", mode, str(seconds)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, errors="replace"
    )
    counts = [int(number) for number in re.findall(r"number_of_executed_units: (\d+)", done.stdout + done.stderr)]
    count, failed = max(counts, default=1), done.returncode != 0
    if failed:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        note(f"a reader failed ({last}); once more: python -m benchmarks.fuzz {KEPT}")
    name = f"readers, {mode} fuzzing for {seconds} s, files without an unexpected error: all"
    yield make_row(name, count - failed, count, "files", 1.0, quality=True)


def blind(options: Options) -> Iterator[Row]:
    """Good files changed at random."""
    yield from _run("blind", options)


def guided(options: Options) -> Iterator[Row]:
    """Guided by coverage."""
    if is_installed("atheris"):
        yield from _run("guided", options)


PARTS: dict[str, Part] = {"blind": blind, "guided": guided}


def main() -> None:
    """`blind SECONDS`, `guided SECONDS` or a kept file."""
    with tempfile.TemporaryDirectory() as name:
        if sys.argv[1] in PARTS:
            search = {"blind": search_blind, "guided": search_guided}[sys.argv[1]]
            search(int(sys.argv[2]), Path(name))
        else:
            make_reader(Path(name))[0](Path(sys.argv[1]).read_bytes())


if __name__ == "__main__":
    main()
