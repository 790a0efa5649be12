"""Files plain or compressed (gzip, xz, zstd, recognised by content): reading, atomic writing, and their errors."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from firth.errors import FirthError
from firth.runs import atomic_files

_BUFFER = 1 << 16
MODULES = ("compression.zstd", "backports.zstd")  # the first from Python 3.14 on
FREE = 1 << 28  # bytes that any file may expand to
MAX_RATIO = 100  # of the decompressed size to the compressed one, beyond those; text has 3 to 20
ARCHIVE_FAULTS = (  # what zipfile raises for damaged archives
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, struct.error,
)  # fmt: skip


@contextmanager
def explain_read_errors(shown: str) -> Iterator[None]:
    """Turn a failed read into an error that says what to do."""
    advice = "compress it again, or decompress it by hand"
    try:
        yield
    except EOFError as error:
        raise FirthError("the compressed file is truncated (it ends too early)", where=shown, do=advice) from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise FirthError(f"the compressed file is damaged ({error})", where=shown, do=advice) from error
    except MemoryError as error:
        raise FirthError("out of memory while it was read", where=shown, do="free memory, or give less") from error
    except PermissionError as error:
        raise FirthError("no permission to read it", where=shown, do="change its permissions or owner") from error
    except OSError as error:
        raise FirthError(f"cannot be read ({error.strerror or error})", where=shown, do="check the path") from error


def blocks(path: Path, shown: str, size: int) -> Iterator[bytes]:
    """The decompressed content, `size` bytes at a time."""
    with explain_read_errors(shown), path.open("rb") as raw, decompress(raw) as content:
        while block := content.read(size):
            yield block


def decompress(raw: BinaryIO) -> BinaryIO:
    """The stream of decompressed bytes, whatever the name of the file."""
    magic = raw.read(6)
    raw.seek(0)
    for prefix, open_stream in DECOMPRESSORS.items():
        if magic.startswith(prefix):
            return bounded(open_stream(raw), raw)
    return raw


def bounded(inner: BinaryIO, raw: BinaryIO) -> BinaryIO:
    """The decompressed stream of a file; it ends with an error if it expands as no text does (a decompression bomb)."""
    return io.BufferedReader(_Bounded(inner, raw), _BUFFER)


class _Bounded(io.RawIOBase):
    def __init__(self, inner: BinaryIO, raw: BinaryIO) -> None:
        self._inner, self._raw, self._size = inner, raw, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._inner.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._size = self._inner.seek(offset, whence)
        return self._size

    def close(self) -> None:
        self._inner.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview) -> int:
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self._size += len(data)
        if self._size > FREE and self._size > MAX_RATIO * self._raw.tell():
            times = self._size // max(1, self._raw.tell())
            what = f"it expands to more than {self._size >> 20} MB, {times} times its size, as no text does"
            do = "if you trust it, decompress it by hand and give the result"
            raise FirthError(what, where=self._raw.name, do=do)
        return len(data)


def _zstd(raw: BinaryIO) -> BinaryIO:
    for name in MODULES:
        if find_spec(name.partition(".")[0]) and find_spec(name):
            zstd = import_module(name)
            return _Translated(zstd.ZstdFile(raw), zstd.ZstdError)
    what = "compressed with zstd, which needs another package"
    raise FirthError(what, where=raw.name, do="pip install 'firth[zst]', or decompress it by hand")


class _Translated(io.RawIOBase):
    """A stream of an optional package, with errors that `explain_read_errors` knows."""

    def __init__(self, inner: BinaryIO, error: type[Exception]) -> None:
        self._inner, self._error = inner, error

    def read(self, size: int = -1) -> bytes:
        try:
            return self._inner.read(size)
        except self._error as error:
            raise zlib.error(str(error)) from error


DECOMPRESSORS: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}


def _gzip(raw: BinaryIO) -> BinaryIO:
    return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)  # neither name nor time: same text, same bytes


def _xz(raw: BinaryIO) -> BinaryIO:
    return lzma.LZMAFile(raw, "wb")


COMPRESSORS: dict[str, Callable[[BinaryIO], BinaryIO]] = {".gz": _gzip, ".xz": _xz}


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """A file to write into; it appears complete at the end, or not at all. .gz and .xz are compressed."""
    target = atomic_files.destination(path)
    if target.is_dir():
        raise FirthError("a folder has this name", where=path, do="name a file")
    with (
        atomic_files.explain_errors(path),
        atomic_files.replacing_at(target, 0o666) as descriptor,
        os.fdopen(descriptor, "wb", closefd=False) as raw,
    ):
        if path.suffix in COMPRESSORS:
            with COMPRESSORS[path.suffix](raw) as file:
                yield file
        else:
            yield raw


def missing_file(name: str, others: Iterable[str] = ()) -> FirthError:
    """The error for a name without a file; it suggests the nearest file that exists, or one of the other names."""
    path, others = Path(name), list(others)
    try:
        siblings = [entry.name for entry in path.parent.iterdir()] if name else []
    except (OSError, ValueError):
        siblings = []
    near = get_close_matches(str(path), [str(path.parent / other) for other in siblings] + others, n=1, cutoff=0.6)
    known = f", a folder, - or one of {', '.join(others)}" if others else ""
    do = f"did you mean {near[0]!r}?" if near else f"give a file{known}"
    return FirthError("no such file or folder", where=name or "''", do=do)
