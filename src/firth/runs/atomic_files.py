"""Atomic file writes: to a temporary file, synced, renamed. Every write, sync and rename of a run goes through here."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from firth.errors import FirthError

_ELSEWHERE = "choose another folder (--out for a run, FIRTH_CACHE for the cache)"
_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and run the same command again; nothing saved so far is lost"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run the same command again"),
    errno.EACCES: ("no permission to write", f"{_ELSEWHERE}, or change its permissions"),
    errno.EPERM: ("no permission to write", f"{_ELSEWHERE}, or change its permissions"),
    errno.EROFS: ("the file system is read-only", _ELSEWHERE),
    errno.ENOTDIR: ("a part of this path is not a folder", _ELSEWHERE),
    errno.EEXIST: ("a file has this name", _ELSEWHERE),
}


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn a failed write below `path` into an error that says what to do."""
    try:
        yield
    except OSError as error:
        what, do = _REASONS.get(error.errno or 0, (f"cannot write: {error.strerror or error}", ""))
        raise FirthError(what, where=path, do=do) from error


Chunks = Sequence["bytes | memoryview"]  # of one file, so that large arrays are written without a copy


def write(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of the data, or raise an OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Wait until the data is on disk."""
    os.fsync(descriptor)


def rename(old: Path, new: Path) -> None:
    """Rename atomically, replacing what is there."""
    old.replace(new)
    for folders in _recordings:
        folders.add(new.parent)


_recordings: list[set[Path]] = []


@contextmanager
def record_folders() -> Iterator[set[Path]]:
    """The folders into which files are put within this context."""
    folders: set[Path] = set()
    _recordings.append(folders)
    try:
        yield folders
    finally:
        _recordings[:] = [each for each in _recordings if each is not folders]


def sync_folder(path: Path) -> None:
    """Wait until the folder's entries are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path, data: bytes | Chunks) -> None:
    """Write and sync a file in place, without a rename."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for chunk in as_chunks(data):
            write(descriptor, chunk)
        sync(descriptor)
    finally:
        os.close(descriptor)


def destination(path: Path) -> Path:
    """The file that writing to this path replaces: the target of a link, so that the link stays; an error for a device
    or a pipe."""
    target = Path(os.path.realpath(path))
    with explain_errors(path):
        if target.exists() and not target.is_file() and not target.is_dir():
            raise FirthError("not an ordinary file", where=path, do="name a file")
    require_folder(target.parent if path.is_symlink() else path.parent)
    return target


def require_folder(path: Path) -> None:
    """Raise if the folder does not exist: a mistyped path creates none."""
    with explain_errors(path):
        if not path.exists():
            raise FirthError("no such folder", where=path, do="make it first")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file atomically: at every instant either the old or the new one is there, complete."""
    target = destination(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")  # another process may write the same file
    with explain_errors(path):
        try:
            write_new(temporary, data)
        except OSError:
            temporary.unlink(missing_ok=True)  # an incomplete file would only use up disk space
            raise
        rename(temporary, target)
        sync_folder(target.parent)


def make_folder(path: Path) -> None:
    """Create the folder and its parents."""
    with explain_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def remove_folder(path: Path) -> None:
    """Remove the folder and its content; no error if it does not exist."""
    shutil.rmtree(path, ignore_errors=True)


def as_chunks(data: bytes | memoryview | Chunks) -> Chunks:
    """The data as a sequence of chunks."""
    return [data] if isinstance(data, (bytes, memoryview)) else data


def digest(data: bytes | memoryview | Chunks) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    sha = hashlib.sha256()
    for chunk in as_chunks(data):
        sha.update(chunk)
    return sha.hexdigest()


def digest_file(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
