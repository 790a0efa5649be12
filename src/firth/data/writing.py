"""Documents into a file that, read again, gives the same documents."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import BinaryIO

from firth.errors import FirthError
from firth.runs import files

STANDARD_OUTPUT = Path("-")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


class Writer:
    """One document a line, or with blank lines between; "auto" begins with lines and changes when one is not enough."""

    def __init__(self, path: Path, unit: str) -> None:
        self._path, self._unit, self._blank = path, unit, unit in ("paragraph", "file")
        self._file = path.open("w+b")
        self.count = 0

    def write(self, document: str) -> None:
        """Adds a document; a blank line inside it would make two of it, and is taken out."""
        text = _BLANK_LINES.sub("\n", document.strip("\n"))
        if "\n" in text and not self._blank:
            if self._unit == "line":
                text = text.replace("\n", " ")
            else:
                self._widen()
        between = "\n" if self._blank and self.count else ""
        self._file.write(f"{between}{text}\n".encode(errors="replace"))
        self.count += 1

    def _widen(self) -> None:
        """Puts a blank line between the documents written so far."""
        beside = self._path.with_name(self._path.name + ".wide")
        wide = beside.open("w+b")
        self._file.seek(0)
        for number, line in enumerate(self._file):
            wide.write(b"\n" + line if number else line)
        self._file.close()
        beside.replace(self._path)
        self._file, self._blank = wide, True

    def close(self) -> None:
        """All is on the disk."""
        self._file.flush()
        files.sync(self._file.fileno())
        self._file.close()


@contextmanager
def writing(out: Path, unit: str) -> Iterator[Writer]:
    """A writer; the file appears whole at the end, or not at all. .gz and .xz are packed, - is standard output."""
    if out.is_dir():
        raise FirthError("a folder stands in the way", where=out, do="name a file")
    if not out.parent.is_dir():
        raise FirthError("no such folder", where=out.parent, do="make it first")
    folder, name = (Path(gettempdir()), "firth") if out == STANDARD_OUTPUT else (out.parent, out.name)
    beside, packed = (folder / f".{name}.{os.getpid()}.{ending}" for ending in ("new", "packed"))
    try:
        with files.explained(out):
            writer = Writer(beside, unit)
            yield writer
            writer.close()
            if out != STANDARD_OUTPUT and writer.count:
                files.rename(_pack(beside, packed, out.suffix), out)
        if out == STANDARD_OUTPUT:
            _print(beside)
    finally:
        for path in (beside, packed):
            path.unlink(missing_ok=True)


def _print(path: Path) -> None:
    with path.open("rb") as plain:
        shutil.copyfileobj(plain, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _pack(plain: Path, packed: Path, ending: str) -> Path:
    """The file to rename: packed if the ending asks for it."""
    if ending not in _PACKERS:
        return plain
    with plain.open("rb") as source, packed.open("wb") as raw, _PACKERS[ending](raw) as target:
        shutil.copyfileobj(source, target)
    return packed


def _gzip(raw: BinaryIO) -> BinaryIO:
    return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)  # neither name nor time: same text, same bytes


def _xz(raw: BinaryIO) -> BinaryIO:
    return lzma.LZMAFile(raw, "wb")


_PACKERS = {".gz": _gzip, ".xz": _xz}
