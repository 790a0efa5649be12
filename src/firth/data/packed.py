"""Bytes of files: plain or packed (gzip, xz, zstd, told apart by content), and what can go wrong with them."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from firth.errors import FirthError
from firth.runs import files

MODULES = ("compression.zstd", "backports.zstd")  # the first from Python 3.14 on


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Turns what can go wrong with a file into errors that say so."""
    packed = "make it again or unpack it by hand"
    try:
        yield
    except EOFError as error:
        raise FirthError("the compressed file is truncated (it ends too early)", where=shown, do=packed) from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise FirthError(f"the compressed file is damaged ({error})", where=shown, do=packed) from error
    except PermissionError as error:
        raise FirthError("no permission to read it", where=shown, do="change its permissions or owner") from error
    except OSError as error:
        raise FirthError(f"cannot be read ({error.strerror or error})", where=shown, do="check the path") from error


def blocks(path: Path, shown: str, size: int) -> Iterator[bytes]:
    """The unpacked content, `size` bytes at a time."""
    with reading(shown), path.open("rb") as raw, unpacked(raw) as content:
        while block := content.read(size):
            yield block


def unpacked(raw: BinaryIO) -> BinaryIO:
    """The stream of unpacked bytes, whatever the file is called."""
    magic = raw.read(6)
    raw.seek(0)
    for mark, unpack in PACKED.items():
        if magic.startswith(mark):
            return unpack(raw)
    return raw


def _zstd(raw: BinaryIO) -> BinaryIO:
    for name in MODULES:
        if find_spec(name.partition(".")[0]) and find_spec(name):
            zstd = import_module(name)
            return _Translated(zstd.ZstdFile(raw), zstd.ZstdError)
    what = "packed with zstd, which needs another package"
    raise FirthError(what, where=raw.name, do="pip install 'firth[zst]', or unpack it by hand")


class _Translated(io.RawIOBase):
    """A stream of a package that may not be there, with errors that `reading` knows."""

    def __init__(self, inner: BinaryIO, error: type[Exception]) -> None:
        self._inner, self._error = inner, error

    def read(self, size: int = -1) -> bytes:
        try:
            return self._inner.read(size)
        except self._error as error:
            raise zlib.error(str(error)) from error


PACKED: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}


def _gzip(raw: BinaryIO) -> BinaryIO:
    return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)  # neither name nor time: same text, same bytes


def _xz(raw: BinaryIO) -> BinaryIO:
    return lzma.LZMAFile(raw, "wb")


PACKERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {".gz": _gzip, ".xz": _xz}


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write into; it takes its place whole at the end, or not at all. .gz and .xz are packed."""
    target = files.destination(path)
    if target.is_dir():
        raise FirthError("a folder stands in the way", where=path, do="name a file")
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with files.explained(path):
            with beside.open("wb") as raw:
                if path.suffix in PACKERS:
                    with PACKERS[path.suffix](raw) as file:
                        yield file
                else:
                    yield raw
                raw.flush()
                files.sync(raw.fileno())
            files.rename(beside, target)
            files.sync_folder(target.parent)
    finally:
        beside.unlink(missing_ok=True)


def missing(name: str, others: Iterable[str] = ()) -> FirthError:
    """The error for a name without a file; it offers the nearest file there is, or one of the other names."""
    path, others = Path(name), list(others)
    try:
        beside = [entry.name for entry in path.parent.iterdir()] if name else []
    except (OSError, ValueError):
        beside = []
    near = get_close_matches(str(path), [str(path.parent / other) for other in beside] + others, n=1, cutoff=0.6)
    known = f", a folder, - or one of {', '.join(others)}" if others else ""
    do = f"did you mean {near[0]!r}?" if near else f"give a file{known}"
    return FirthError("no such file or folder", where=name or "''", do=do)
