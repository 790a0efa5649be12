"""Fuzzing of every reader of labelled data: whatever the file, records or one FirthError must come out.

With `atheris` (pip install atheris), coverage guides the search; without it, good files are changed at random.
The file that broke a reader is kept, and its path printed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests" / "data" / "formats"))

SLOW = 20  # seconds that one file may take
MEMORY = 2048  # megabytes for the whole process
LONGEST = 4096  # bytes of a file
MARKS = [b"\n", b"\t", b" ", b"(", b")", b"[", b'"', b"{", b"0", b"-1", b"9" * 30, b"\xff", b"\0", b"1e999", b"\r\n"]


def reader(folder: Path, only: str) -> tuple[Callable[[bytes], None], list[bytes]]:
    """What reads one input, whose first byte chooses the case, and the good inputs to begin with."""
    from samples import CASES

    from firth.errors import FirthError

    cases = [case for name, case in CASES.items() if name.startswith(only)]
    if not cases:
        raise SystemExit(f"no format begins with {only!r}: {', '.join(CASES)}")

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


def guided(seconds: int, only: str, folder: Path) -> None:
    """Let atheris search; it ends the process, with a status other than 0 if it found something."""
    import atheris

    with atheris.instrument_imports(include=["firth.data", "firth.config"]):
        read, seeds = reader(folder, only)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    kept = f"-artifact_prefix={tempfile.gettempdir()}/fuzz-data-"
    limits = [f"-max_total_time={seconds}", f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY}", f"-max_len={LONGEST}"]
    atheris.Setup([sys.argv[0], str(corpus), kept, "-verbosity=1", "-print_final_stats=1", *limits], read)
    atheris.Fuzz()


def blind(seconds: int, only: str, folder: Path, seed: int) -> None:
    """Change good files at random until the time is over."""
    read, seeds = reader(folder, only)
    draw, end, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = bytearray(draw.choice(seeds))
        for _ in range(draw.randint(1, 5)):
            start = draw.randint(1, len(data))
            stop = min(len(data), start + draw.randint(0, 12))
            data[start:stop] = draw.choice([draw.choice(MARKS), draw.randbytes(2), bytes(data[start:stop]) * 2])
        try:
            read(bytes(data))
        except BaseException:
            kept = Path(tempfile.gettempdir(), "fuzz-data-found")
            kept.write_bytes(data)
            print(f"kept in {kept}")
            raise
        count += 1
    print(f"{count} files, nothing found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="how long to search")
    parser.add_argument("--only", default="", help="only formats whose name begins so")
    parser.add_argument("--blind", action="store_true", help="without atheris")
    parser.add_argument("--seed", type=int, default=0, help="of the blind search")
    parser.add_argument("--again", type=Path, help="read this kept file once more, with the same --only")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.again:
            reader(folder, options.only)[0](options.again.read_bytes())
            return
        try:
            import atheris  # noqa: F401
        except ImportError:
            print("atheris is not installed: a blind search")
            options.blind = True
        if options.blind:
            blind(options.seconds, options.only, folder, options.seed)
        else:
            guided(options.seconds, options.only, folder)


if __name__ == "__main__":
    main()
