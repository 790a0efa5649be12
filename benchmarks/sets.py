"""Read every public set there is: compare counts with the published ones and write each file back, byte for byte.

python benchmarks/sets.py --data ../shared/data [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from firth.data import lines, packed, sets
from firth.data.formats.parallel import Parallel
from firth.data.records import Labelled, Sentence, Series, Tagged

LARGE = 20_000_000  # bytes; --quick leaves larger files out


def words(record: object) -> int:
    """How many words (or steps) the published counts would count in a record."""
    if isinstance(record, (Tagged, Sentence)):
        return len(record.words)
    if isinstance(record, Series):
        return len(record.values)
    return len(record.text.split()) if isinstance(record, Labelled) else 0


def content(path: Path) -> bytes:
    """The unpacked bytes of a file."""
    return b"".join(packed.blocks(path, str(path), 1 << 20))


def rewritten(found: sets.DataSet, split: str, records: list, folder: Path) -> str:
    """Whether writing the records gives the files back: their bytes (ok), or at least the same records."""
    form, paths = found.form(split), found.paths(split)
    if getattr(form, "windows", ""):  # marks that stand in another file
        form = replace(form, windows="")
        records = list(form.read(paths[0]))
    if isinstance(form, Parallel) and len(paths) > 1:
        groups = form.sides(records)
    elif hasattr(form, "rows") and len(paths) == 1:
        groups = [form.rows(records)]
    else:
        return "n/a"
    same = True
    for path, rows in zip(paths, groups, strict=True):
        copy = folder / path.relative_to(found.folder).with_name(path.name.removesuffix(".gz").removesuffix(".xz"))
        copy.parent.mkdir(exist_ok=True)
        lines.save(copy, rows, lines.shape(path))
        same = same and content(path) == copy.read_bytes()
    if same:
        return "ok"
    return "records" if len(paths) == 1 and equal(records, list(form.read(copy))) else "differs"


def equal(old: list, new: list) -> bool:
    """Whether records are the same, but for the lines they stand on."""
    return len(old) == len(new) and all(
        np.array_equal(one, two, equal_nan=getattr(one, "dtype", np.dtype("O")).kind == "f")
        for first, second in zip(old, new, strict=True)
        for key, one, two in zip(first._fields, first, second, strict=True)
        if key != "line"
    )


def row(found: sets.DataSet, split: str, folder: Path) -> dict[str, object]:
    """One split: counts, the round trip, and megabytes a second."""
    part, start = found.part(split), time.perf_counter()
    records = list(found.records(split))
    seconds = time.perf_counter() - start
    size = sum(len(content(path)) for path in found.paths(split))
    counted = sum(map(words, records)) if part.words else None
    same = part.records in (None, len(records)) and part.words in (None, counted)
    again = rewritten(found, split, records, folder)
    about = {"set": found.name, "split": split, "format": part.format or found.format, "records": len(records)}
    return {
        **about,
        "words": counted,
        "counts": "ok" if same else "differs",
        "round trip": again,
        "MB/s": size / seconds / 1e6,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    options.add_argument("--quick", action="store_true", help="leave large files out")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for found in (known for known in sets.all_sets(given.data).values() if known.folder):
            for split in found.parts if found.present() else ():
                if given.quick and sum(path.stat().st_size for path in found.paths(split)) > LARGE / 4:
                    continue
                rows.append(row(found, split, Path(folder)))
                if not given.json:
                    show(rows[-1])
    if given.json:
        print(json.dumps({"rows": rows}))


def show(found: dict[str, object]) -> None:
    """One line of the table."""
    name = f"{found['set']} {found['split']}"
    count = f"{found['records']:,}" + (f" / {found['words']:,}" if found["words"] else "")
    print(f"{name:<52} {found['format']:<11} {count:>20}  counts {found['counts']:<8} round trip {found['round trip']}")


if __name__ == "__main__":
    main()
