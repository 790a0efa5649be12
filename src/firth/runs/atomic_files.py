"""Atomic file writes: to a temporary file, synced, renamed. Every write, sync, rename and removal in a run is here.

A temporary file is new, has a name that nobody can guess, and is locked as long as its process writes it: so no link is
followed, and what a killed process left is told from what another one writes now.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

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


def rename(old: Path, new: Path, folder: int | None = None) -> None:
    """Rename atomically, replacing what is there; with a folder's handle, inside that folder."""
    os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
    for folders in _recordings:
        folders.add((Path() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()) / new.parent)


def unlink(name: str, folder: int) -> None:
    """Remove a file from the folder with this handle."""
    os.unlink(name, dir_fd=folder)


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


def write_new(name: str, data: bytes | Chunks, folder: int) -> None:
    """Write and sync a new file of a folder in place, without a rename."""
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        write_all(descriptor, data)
        sync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes | Chunks) -> None:
    """Write all chunks."""
    for chunk in as_chunks(data):
        write(descriptor, chunk)


LEFTOVER = re.compile(r"\..+\.(?:[0-9a-f]{16}|\d+)\.new")  # a temporary file's name, also as earlier versions wrote it


def temporary_name(name: str) -> str:
    """A hidden name that nobody can guess."""
    return f".{name[:40]}.{os.urandom(8).hex()}.new"


@contextmanager
def replacing(folder: int, name: str, mode: int = 0o644) -> Iterator[int]:
    """A new file to write; at the end it is synced and has the name, or is gone."""

    def create(temporary: str) -> int:
        return os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)

    temporary, descriptor = _create_locked(name, create)
    try:
        yield descriptor
        sync(descriptor)
        rename(Path(temporary), Path(name), folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)  # an incomplete file would only use up disk space
        raise
    finally:
        os.close(descriptor)
    sync(folder)


def _create_locked(name: str, create: Callable[[str], int]) -> tuple[str, int]:
    """A new temporary file or folder and its handle, locked before anybody took it for abandoned."""
    while True:
        temporary = temporary_name(name)
        descriptor = create(temporary)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)


def remove_abandoned(folder: int, name: str) -> None:
    """Remove a temporary file or folder that no process has locked."""
    with suppress(OSError):
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not LEFTOVER.fullmatch(name) or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            return
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if stat.S_ISDIR(kind):
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
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
    with explain_errors(path), replacing_at(destination(path)) as descriptor:
        write_all(descriptor, data)


@contextmanager
def replacing_at(path: Path, mode: int = 0o644) -> Iterator[int]:
    """As `replacing`, for a path."""
    with open_folder(path.parent) as folder, replacing(folder, path.name, mode) as descriptor:
        yield descriptor


@contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """The handle of a folder."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """A new folder beside `path` to build it in, removed at the end unless it was renamed; what killed processes left
    is removed too."""
    make_folder(path.parent)
    with explain_errors(path), open_folder(path.parent) as folder:

        def create(temporary: str) -> int:
            while True:
                os.mkdir(temporary, dir_fd=folder)
                with suppress(FileNotFoundError):  # another process took it for abandoned before it was open
                    return os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=folder)

        for name in os.listdir(folder):  # noqa: PTH208 - by its handle
            if name.startswith(f".{path.name[:40]}."):
                remove_abandoned(folder, name)
        temporary, handle = _create_locked(path.name, create)
    try:
        yield path.with_name(temporary)
    finally:
        remove_folder(path.with_name(temporary))
        os.close(handle)


def make_folder(path: Path) -> None:
    """Create the folder and its parents."""
    with explain_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def remove_folder(path: Path) -> None:
    """Remove the folder and its content; no error if it does not exist."""
    shutil.rmtree(path, ignore_errors=True)


def open_file(path: Path) -> BinaryIO:
    """An ordinary file, to read; a device or a pipe, which may never end, is refused before it is opened."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise FirthError("not an ordinary file", where=path, do="name a file")
    return path.open("rb")


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
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
