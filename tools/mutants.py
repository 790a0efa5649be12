"""Mutation testing by hand-made faults: each is put into a copy of the project, and its tests must fail there.

    python tools/mutants.py [--only PATTERN] [--list] [--jobs 2]

Prints a line for each fault, a table by folder, and how many were caught and how many survived. A survivor is a test
that is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parent))
from mutants_list import FAULTS, Fault

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "docs", "recipes", "pyproject.toml", "README.md", "CONTRIBUTING.md")
TIME_LIMIT = 600.0  # seconds of one fault's tests; a fault that makes them hang is caught
FAILED = 1  # pytest's exit status when tests ran and some failed


def copy_tree(folder: Path) -> Path:
    """What the tests need of the project, in a folder of its own."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        elif source.exists():
            shutil.copy2(source, folder / name)
    found = _python(folder, "-c", "import firth; print(firth.__file__)").stdout.strip()
    if not Path(found).is_relative_to(folder):
        raise SystemExit(f"the copy in {folder} is not what is imported: {found}")
    return folder


def mutate(text: str, fault: Fault) -> str:
    """The text of the file with the fault in it."""
    if (count := text.count(fault.old)) != 1:
        raise SystemExit(f"{fault.file}: {fault.old!r} occurs {count} times, not once")
    return text.replace(fault.old, fault.new)


def baseline(faults: Sequence[Fault]) -> list[str]:
    """All tests of the faults, each once: those in a folder that is named as a whole are left out."""
    names = {name for fault in faults for name in fault.tests.split()}
    return sorted(name for name in names if not {str(parent) for parent in Path(name).parents} & names)


def check_baseline(folder: Path, names: Sequence[str]) -> None:
    """Without a fault all tests must pass: a test that fails anyway would catch everything."""
    result = _pytest(folder, names) if names else None
    if result is not None and result.returncode:
        raise SystemExit(f"the tests fail without any fault\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


def is_caught(folder: Path, fault: Fault) -> bool:
    """Whether the fault's tests fail with it; the copy is as before afterwards."""
    path = folder / "src" / "firth" / fault.file
    original = path.read_text(encoding="utf-8")
    path.write_text(mutate(original, fault), encoding="utf-8")
    try:
        result = _pytest(folder, fault.tests.split())
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original, encoding="utf-8")
    # a fault that only breaks the import, or tests that are not found, would show nothing
    if result.returncode not in (0, FAILED):
        raise SystemExit(f"{fault.file}, {fault.new!r}: the tests did not run\n{result.stdout[-2000:]}")
    return result.returncode == FAILED


def _pytest(folder: Path, names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return _python(folder, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *(f"tests/{name}" for name in names))


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy. No bytecode is written: a fault of the same size in the same second would go unseen."""
    own = {"PYTHONPATH": str(folder / "src"), "FIRTH_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = os.environ | own
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT)


def run(faults: Sequence[Fault], jobs: int) -> dict[Fault, bool]:
    """Which faults are caught; each job has a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folders = [Path(temporary).resolve() / str(number) for number in range(jobs)]
        copies: SimpleQueue[Path] = SimpleQueue()
        for folder in folders:
            folder.mkdir()
            copies.put(copy_tree(folder))
        names = baseline(faults)
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(check_baseline, folders, (names[number::jobs] for number in range(jobs))))

        def check(fault: Fault) -> bool:
            folder = copies.get()
            try:
                caught = is_caught(folder, fault)
            finally:
                copies.put(folder)
            print("caught  " if caught else "SURVIVED", describe(fault), flush=True)
            return caught

        with ThreadPoolExecutor(jobs) as pool:
            return dict(zip(faults, pool.map(check, faults), strict=True))


def describe(fault: Fault) -> str:
    """The fault in one line."""
    return f"{fault.file}: {fault.old} -> {fault.new}"


def table(results: dict[Fault, bool]) -> str:
    """Caught and survived by folder, as Markdown."""
    caught = Counter(fault.folder for fault, is_caught in results.items() if is_caught)
    total = Counter(fault.folder for fault in results)
    rows = [f"| {folder} | {caught[folder]} | {total[folder] - caught[folder]} |" for folder in total]
    return "\n".join(["| folder | caught | survived |", "| --- | --- | --- |", *rows])


def main() -> None:
    """Run the faults that were asked for; the exit status is 1 if any survives."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="PATTERN", default="", help="faults whose line matches a regular expression")
    parser.add_argument("--list", action="store_true", help="list the faults, run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if re.search(options.only, describe(fault))]
    if options.list:
        print(*map(describe, faults), sep="\n")
        return
    results = run(faults, options.jobs)
    survivors = [fault for fault, caught in results.items() if not caught]
    print(f"\n{table(results)}\n", *(f"survived: {describe(fault)}" for fault in survivors), sep="\n")
    print(f"{len(results) - len(survivors)} caught, {len(survivors)} survived")
    raise SystemExit(bool(survivors))


if __name__ == "__main__":
    main()
