"""The gate of a folder: firth reads, writes and deletes the files of runs and ladders only through it.

A folder may come from anybody. Names are looked up from a handle of the folder, and no link in it is followed: nothing
outside it is read, written or deleted. Only ordinary files are opened: no pipe or device is waited for.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from firth.errors import FirthError
from firth.runs import atomic_files

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_REMOVE = "remove it, or put the file itself there"
_LINK = "a link, and links in such a folder are not followed"
_KINDS = ((stat.S_ISDIR, "a folder has this name"), (stat.S_ISLNK, _LINK))


class Gate:
    """The files of one folder, by their names in it (`tokenizers/text.json`)."""

    def __init__(self, root: Path, inside: str = "") -> None:
        self.root, self._inside = root, inside

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / self._inside

    def below(self, name: str) -> Gate:
        """The gate of a folder in it; that name is not followed either."""
        return Gate(self.root, str(PurePosixPath(self._inside, name)))

    # --- reading --------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Whether the file is there; an error if something else has its name."""
        try:
            with self._at(name) as (folder, last):
                self._require_file(name, os.stat(last, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except PermissionError:
            raise _refused(self.path / name, "no permission to read it", "change its permissions or owner") from None
        return True

    def open(self, name: str) -> BinaryIO:
        """The file, to read."""
        with self._at(name) as (folder, last):
            return os.fdopen(self._open(name, last, os.O_RDONLY, folder), "rb")

    def read(self, name: str, limit: int | None = None) -> bytes:
        """The content of the file; with a limit, an error if it is longer."""
        with self.open(name) as file:
            if limit is not None and os.fstat(file.fileno()).st_size > limit:
                raise FirthError(f"larger than {limit:,} bytes", where=self.path / name, do="restore it, or delete it")
            return file.read()

    def names(self, name: str = ".") -> list[str]:
        """The names in a folder, sorted; none if there is no such folder."""
        try:
            with self._folder(self._parts(name)) as folder:
                return sorted(os.listdir(folder))  # noqa: PTH208 - by its handle
        except FileNotFoundError:
            return []

    def copy(self, target: Path, leave_out: Collection[str] = (), name: str = ".") -> None:
        """Copy the files of the folder into another, which is new; an error for a link or a device."""
        for each in self.names(name):
            inner = str(PurePosixPath(name, each))
            if each in leave_out:
                continue
            if stat.S_ISDIR((self.path / inner).lstat().st_mode):
                (target / each).mkdir()
                self.copy(target / each, leave_out, inner)
            else:
                with self.open(inner) as source, (target / each).open("xb") as file:
                    shutil.copyfileobj(source, file)

    # --- writing --------------------------------------------------------------------------------------------------

    def replace(self, name: str, data: bytes | atomic_files.Chunks) -> None:
        """Write the file atomically: another name of the old one (a hard link) keeps the old content."""
        with atomic_files.explain_errors(self.path / name), self._at(name) as (folder, last):
            self._require_free(name, last, folder)
            with atomic_files.replacing(folder, last) as descriptor:
                atomic_files.write_all(descriptor, data)

    def write_new(self, name: str, data: bytes | atomic_files.Chunks) -> None:
        """Write and sync a new file in place."""
        with self._at(name) as (folder, last):
            atomic_files.write_new(last, data, folder)

    def append(self, name: str) -> BinaryIO:
        """The file, to write at its end, unbuffered; not one that has another name too (a hard link)."""
        with atomic_files.explain_errors(self.path / name), self._at(name) as (folder, last):
            descriptor = self._open(name, last, os.O_WRONLY | os.O_APPEND, folder)
            if os.fstat(descriptor).st_nlink > 1:
                os.close(descriptor)
                raise FirthError("it has another name too (a hard link)", where=self.path / name, do="copy it")
            return os.fdopen(descriptor, "ab", buffering=0)

    def open_or_create(self, name: str) -> int:
        """A handle of the file, which may be empty and keeps its content."""
        with atomic_files.explain_errors(self.path / name), self._at(name) as (folder, last):
            self._require_free(name, last, folder)
            return self._open(name, last, os.O_RDWR | os.O_CREAT, folder)

    def make_folder(self, name: str) -> None:
        """Create a folder, if it is not there."""
        with atomic_files.explain_errors(self.path / name), self._at(name) as (folder, last):
            with suppress(FileExistsError):
                os.mkdir(last, dir_fd=folder)
            with self._folder(self._parts(name)):  # refuses what is no folder
                pass

    def rename(self, old: str, new: str) -> None:
        """Rename atomically; both names are in the folder itself."""
        with self._folder(self._parts(".")) as folder:
            atomic_files.rename(Path(old), Path(new), folder)

    def sync(self, name: str = ".") -> None:
        """Wait until the entries of a folder are on disk."""
        with self._folder(self._parts(name)) as folder:
            atomic_files.sync(folder)

    # --- deleting -------------------------------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it is there."""
        with suppress(FileNotFoundError), self._at(name) as (folder, last):
            atomic_files.unlink(last, folder)

    def remove_folder(self, name: str, own: Collection[str]) -> None:
        """Remove a folder in which are only files with these names, in their order; with others it stays whole."""
        with self._at(name) as (parent, last):
            with self._folder(self._parts(name)) as folder:
                entries = os.listdir(folder)  # noqa: PTH208 - by its handle
                if foreign := sorted(set(entries) - set(own)):
                    do = "move it elsewhere: firth removes only its own files"
                    raise FirthError("not a file of a checkpoint", where=self.path / name / foreign[0], do=do)
                for each in own:
                    if each in entries:
                        atomic_files.unlink(each, folder)
            os.rmdir(last, dir_fd=parent)

    def remove_leftovers(self, name: str = ".") -> None:
        """Remove the temporary files that killed processes left in a folder."""
        for each in self.names(name):
            with self._folder(self._parts(name)) as folder:
                atomic_files.remove_abandoned(folder, each)

    # --- looking up -----------------------------------------------------------------------------------------------

    def _parts(self, name: str) -> tuple[str, ...]:
        path = PurePosixPath(self._inside, name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            raise FirthError(f"{name!r} is not in this folder", where=self.path, do="restore the folder")
        return path.parts

    @contextmanager
    def _at(self, name: str) -> Iterator[tuple[int, str]]:
        """The handle of the folder that a name is in, and its last part."""
        *parents, last = self._parts(name)
        with self._folder(parents) as folder:
            yield folder, last

    @contextmanager
    def _folder(self, parts: Collection[str]) -> Iterator[int]:
        """The handle of a folder; below the root no link is followed."""
        descriptor, path = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY), self.root
        try:
            for part in parts:
                path = path / part
                try:
                    inner = os.open(part, _FOLDER, dir_fd=descriptor)
                except NotADirectoryError:
                    what = _LINK if path.is_symlink() else "not a folder"
                    raise _refused(path, what, _folder_advice(path)) from None
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _open(self, name: str, last: str, flags: int, folder: int) -> int:
        """A handle of an ordinary file; looked at before, since opening a device may do something already."""
        if not flags & os.O_CREAT:
            self._require_file(name, os.stat(last, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(last, flags | _FILE, 0o644, dir_fd=folder)
        try:
            self._require_file(name, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _require_free(self, name: str, last: str, folder: int) -> None:
        """Refuse a name that something else than an ordinary file has."""
        with suppress(FileNotFoundError):
            self._require_file(name, os.stat(last, dir_fd=folder, follow_symlinks=False))

    def _require_file(self, name: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            what = next((text for is_kind, text in _KINDS if is_kind(status.st_mode)), "not an ordinary file")
            raise _refused(self.path / name, what, _REMOVE)


def _refused(path: Path, what: str, do: str) -> FirthError:
    return FirthError(what, where=path, do=do)


def _folder_advice(path: Path) -> str:
    if path.name == "state":
        return "give the folder with --state-dir, which keeps checkpoints elsewhere"
    return "put the folder itself there"
