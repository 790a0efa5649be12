"""Checkpoints of a run: folders `state/step-000123` that are whole or not there, the newest two kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from firth.runs import files

KEPT = 2
MANIFEST = "manifest.json"


def folder(run: Path, step: int) -> Path:
    """Where the checkpoint of a step stands."""
    return run / "state" / f"step-{step:06d}"


def save(run: Path, step: int, contents: Mapping[str, bytes | files.Pieces]) -> None:
    """Write a checkpoint beside, sync it, rename it into place, then drop the oldest."""
    place = folder(run, step)
    if is_whole(place):
        return
    beside = place.with_name(f".{place.name}.new")
    with files.explained(place):
        files.remove_folder(place)
        files.remove_folder(beside)
        try:
            _write_all(beside, contents)
        except OSError:
            files.remove_folder(beside)
            raise
        files.rename(beside, place)
        files.sync_folder(place.parent)
    for old in _folders(run)[KEPT:]:
        files.remove_folder(old)


def _write_all(place: Path, contents: Mapping[str, bytes | files.Pieces]) -> None:
    place.mkdir(parents=True)
    for name, data in contents.items():
        files.write_new(place / name, data)
    sizes = {name: sum(memoryview(piece).nbytes for piece in files.pieces(data)) for name, data in contents.items()}
    manifest = {name: {"sha256": files.digest(data), "bytes": sizes[name]} for name, data in contents.items()}
    files.write_new(place / MANIFEST, (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
    files.sync_folder(place)


def newest(run: Path) -> Path | None:
    """The newest checkpoint whose manifest holds; broken ones are passed over."""
    return next((place for place in _folders(run) if is_whole(place)), None)


def any_left(run: Path) -> bool:
    """Whether there are any, whole or not."""
    return bool(_folders(run))


def drop_after(run: Path, place: Path | None) -> None:
    """Remove what a crash left behind: half-written folders and broken checkpoints newer than the given one."""
    state = run / "state"
    if not state.is_dir():
        return
    newer = _folders(run)[: _folders(run).index(place)] if place else _folders(run)
    for entry in [*state.glob(".*"), *newer]:
        files.remove_folder(entry)


def is_whole(place: Path) -> bool:
    """Whether every file is there as it was written."""
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
        return all(files.digest_file(place / name) == entry["sha256"] for name, entry in manifest.items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _folders(run: Path) -> list[Path]:
    """Checkpoint folders, newest first."""
    found = [path for path in (run / "state").glob("step-*") if path.name.removeprefix("step-").isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")), reverse=True)
