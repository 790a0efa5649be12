"""Writing that survives a crash: beside, synced, renamed. Every write, sync and rename of a run goes through here."""

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
    errno.EEXIST: ("a file of this name stands in the way", _ELSEWHERE),
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failed write below `path` into an error that says what to do."""
    try:
        yield
    except OSError as error:
        what, do = _REASONS.get(error.errno or 0, (f"cannot write: {error.strerror or error}", ""))
        raise FirthError(what, where=path, do=do) from error


Pieces = Sequence["bytes | memoryview"]  # of one file, so that large arrays need not be copied to be written


def write(descriptor: int, data: bytes | memoryview) -> None:
    """All of the data, or an OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Wait until the disk has it."""
    os.fsync(descriptor)


def rename(old: Path, new: Path) -> None:
    """Put the finished thing in its place, at one instant."""
    old.replace(new)


def sync_folder(path: Path) -> None:
    """Wait until the disk has the folder's list of names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path, data: bytes | Pieces) -> None:
    """A synced file, not yet protected by a rename."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for piece in pieces(data):
            write(descriptor, piece)
        sync(descriptor)
    finally:
        os.close(descriptor)


def destination(path: Path) -> Path:
    """The file that writing to this path replaces: behind a link, so that the link stays; never a device or a pipe."""
    found = Path(os.path.realpath(path))
    with explained(path):
        if found.exists() and not found.is_file() and not found.is_dir():
            raise FirthError("not an ordinary file", where=path, do="name a file")
    require_folder(found.parent if path.is_symlink() else path.parent)
    return found


def require_folder(path: Path) -> None:
    """An error if there is no such folder: a mistyped path makes none."""
    with explained(path):
        if not path.exists():
            raise FirthError("no such folder", where=path, do="make it first")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at every instant either the old or the new one is there, whole."""
    target = destination(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")  # its own: another process may write the same file
    with explained(path):
        try:
            write_new(beside, data)
        except OSError:
            beside.unlink(missing_ok=True)  # half a file would only take up the space that is lacking
            raise
        rename(beside, target)
        sync_folder(target.parent)


def make_folder(path: Path) -> None:
    """The folder and those above it."""
    with explained(path):
        path.mkdir(parents=True, exist_ok=True)


def remove_folder(path: Path) -> None:
    """The folder and all in it; no complaint if it is gone already."""
    shutil.rmtree(path, ignore_errors=True)


def pieces(data: bytes | memoryview | Pieces) -> Pieces:
    """Data as the pieces it is written in."""
    return [data] if isinstance(data, (bytes, memoryview)) else data


def digest(data: bytes | memoryview | Pieces) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    found = hashlib.sha256()
    for piece in pieces(data):
        found.update(piece)
    return found.hexdigest()


def digest_file(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
