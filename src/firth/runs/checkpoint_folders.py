"""Checkpoints of a run: folders `state/step-000123`, written atomically, the newest two kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from firth.runs import atomic_files

MAX_KEPT = 2
MANIFEST = "manifest.json"


def checkpoint_folder(run: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return run / "state" / f"step-{step:06d}"


def save(run: Path, step: int, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    """Write a checkpoint atomically (write, sync, rename), then remove the oldest."""
    path = checkpoint_folder(run, step)
    if is_complete(path):
        return
    temporary = path.with_name(f".{path.name}.new")
    with atomic_files.explain_errors(path):
        atomic_files.remove_folder(path)
        atomic_files.remove_folder(temporary)
        try:
            _write_all(temporary, contents)
        except OSError:
            atomic_files.remove_folder(temporary)
            raise
        atomic_files.rename(temporary, path)
        atomic_files.sync_folder(path.parent)
    for old in _folders(run)[MAX_KEPT:]:
        atomic_files.remove_folder(old)


def _write_all(path: Path, contents: Mapping[str, bytes | atomic_files.Chunks]) -> None:
    path.mkdir(parents=True)
    for name, data in contents.items():
        atomic_files.write_new(path / name, data)
    sizes = {
        name: sum(memoryview(chunk).nbytes for chunk in atomic_files.as_chunks(data)) for name, data in contents.items()
    }
    manifest = {name: {"sha256": atomic_files.digest(data), "bytes": sizes[name]} for name, data in contents.items()}
    atomic_files.write_new(path / MANIFEST, (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
    atomic_files.sync_folder(path)


def newest_checkpoint(run: Path) -> Path | None:
    """The newest complete checkpoint; damaged ones are skipped."""
    return next((path for path in _folders(run) if is_complete(path)), None)


def has_checkpoints(run: Path) -> bool:
    """Whether there are any checkpoints, complete or not."""
    return bool(_folders(run))


def drop_after(run: Path, path: Path | None) -> None:
    """Remove what a crash left behind: incomplete folders and damaged checkpoints newer than the given one."""
    state = run / "state"
    if not state.is_dir():
        return
    newer = _folders(run)[: _folders(run).index(path)] if path else _folders(run)
    for entry in [*state.glob(".*"), *newer]:
        atomic_files.remove_folder(entry)


def is_complete(path: Path) -> bool:
    """Whether every file exists with the checksum of the manifest."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        return all(atomic_files.digest_file(path / name) == entry["sha256"] for name, entry in manifest.items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _folders(run: Path) -> list[Path]:
    """Checkpoint folders, newest first."""
    folders = [path for path in (run / "state").glob("step-*") if path.name.removeprefix("step-").isdigit()]
    return sorted(folders, key=lambda path: int(path.name.removeprefix("step-")), reverse=True)
