"""The command line: chooses areas (or parts of them), prints a table, and the same as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import AREAS
from benchmarks.harness import QUIET, Options, Part, Row, note

_EPILOG = "A ratio above 1 means that ours is better. AREA.PART runs one part of an area: lm.generation."


def parts(area: str) -> Mapping[str, Part]:
    """The parts of an area by name, in the order in which they run."""
    found: Mapping[str, Part] = importlib.import_module(f"benchmarks.{area}").PARTS
    return found


def select(names: Sequence[str]) -> list[tuple[str, Part]]:
    """The parts to run, named `area.part`; all areas if none is named."""
    selected = []
    for name in names or AREAS:
        area, _, part = name.partition(".")
        if area not in AREAS:
            raise SystemExit(f"benchmarks: no area {area!r}; there are {', '.join(AREAS)}")
        if part and part not in parts(area):
            raise SystemExit(f"benchmarks: {area} has no part {part!r}; there are {', '.join(parts(area))}")
        selected += [(f"{area}.{each}", parts(area)[each]) for each in ([part] if part else parts(area))]
    return selected


def run(selected: Sequence[tuple[str, Part]], options: Options, keep: Path | None = None) -> Iterator[Row]:
    """All rows, each printed as soon as it is measured, and added to a file; those that the file has come first."""
    print(f"{'':88} {'ours':>12} {'peer':>12} {'ratio':>7} {'target':>7}")
    for name, part in selected:
        print(name, flush=True)
        kept = {row.name: row for row in read_rows(keep, name)} if keep else {}
        yield from kept.values()
        for row in part(replace(options, kept=frozenset(kept))):
            print(row, flush=True)
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"part": name, **asdict(row)}) + "\n")
            yield row


def read_rows(path: Path, part: str) -> list[Row]:
    """The rows of a part in a file of rows."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Row(**row) for line in lines if (row := json.loads(line)).pop("part") == part]


def use_own_cache(folder: Path) -> None:
    """An empty cache, so that indexing and tokenising are measured; compiled kernels stay where the user has them."""
    from firth.datasets.token_cache import default_cache

    kernels = default_cache() / "kernels"
    kernels.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels))
    os.environ["FIRTH_CACHE"] = str(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the areas that the command line names."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__, epilog=_EPILOG)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}; without any, all of them")
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds: under three minutes an area")
    parser.add_argument("--json", action="store_true", help="the last line of the output is the table as JSON")
    parser.add_argument("--keep", type=Path, help="add each row to this file; the kills it has are not done again")
    parser.add_argument("--models", type=Path, help="keep trained taggers in this folder, and use those that it has")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the public data sets")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every program (all cores)")
    given = parser.parse_args(arguments)
    selected = select(given.areas)
    if not given.data.is_dir():
        note(f"no data folder {given.data}: built-in text instead, where possible; name yours with --data FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(QUIET)
        use_own_cache(Path(folder, "cache"))
        if given.models:
            given.models.mkdir(parents=True, exist_ok=True)
        models = given.models.resolve() if given.models else None
        options = Options(given.data.resolve(), Path(folder), given.quick, given.threads, models=models)
        rows = list(run(selected, options, given.keep))
    if given.json:
        sys.stderr.flush()
        print(json.dumps({"rows": [asdict(row) for row in rows]}, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
