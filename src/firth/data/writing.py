"""Documents into a file that, read again, gives the same documents."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from firth.data.packed import PACKERS
from firth.data.reading import BLOCK
from firth.errors import FirthError
from firth.runs import files

STANDARD_OUTPUT = Path("-")
_MARK = b"\n\n"  # a blank line that tells a reader to expect paragraphs where the documents show none in time


def plain(document: str, unit: str) -> str:
    """The document as it will be read again: line ends of one kind, and no blank line, which would make two of it."""
    lines = document.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (" " if unit == "line" else "\n").join(line for line in lines if line and not line.isspace())


class Writer:
    """One document a line, or with blank lines between; "auto" begins with lines and changes when one is not enough."""

    def __init__(self, path: Path, unit: str) -> None:
        self._path, self._unit, self._blank = path, unit, unit in ("paragraph", "file")
        self._file = path.open("w+b")
        self._lines = self._first = 0  # of the first document: its lines and bytes
        self.count = 0

    def write(self, document: str) -> None:
        """Adds a document, which must not be blank, in its plain form."""
        text = plain(document, self._unit)
        if "\n" in text and not self._blank:
            self._copy(b"", b"\n")
            self._blank = True
        data = f"{text}\n".encode(errors="replace")
        if not self.count:
            self._lines, self._first = data.count(b"\n"), len(data)
        self._file.write(b"\n" + data if self._blank and self.count else data)
        self.count += 1

    def _copy(self, before: bytes, between: bytes) -> None:
        """Writes all lines so far anew, with something before them and between them."""
        beside = self._path.with_name(self._path.name + ".wide")
        wide = beside.open("w+b")
        self._file.seek(0)
        wide.write(before)
        for number, line in enumerate(self._file):
            wide.write(between + line if number else line)
        self._file.close()
        beside.replace(self._path)
        self._file = wide

    def _needs_mark(self) -> bool:
        """Whether the beginning of the file, by which "auto" judges it, holds no blank line between documents."""
        return self._blank and (self._lines > 1 if self.count == 1 else self._first >= BLOCK // 2)

    def close(self) -> None:
        """All is on the disk."""
        if self._needs_mark():
            self._copy(_MARK, b"")
        self._file.flush()
        files.sync(self._file.fileno())
        self._file.close()


@contextmanager
def writing(out: Path, unit: str) -> Iterator[Writer]:
    """A writer; the file appears whole at the end, or not at all. .gz and .xz are packed, - is standard output."""
    if out.is_dir():
        raise FirthError("a folder stands in the way", where=out, do="name a file")
    target = out if out == STANDARD_OUTPUT else files.destination(out)
    folder, name = (Path(gettempdir()), "firth") if out == STANDARD_OUTPUT else (target.parent, target.name)
    beside, packed, wide = (folder / f".{name}.{os.getpid()}.{end}" for end in ("new", "packed", "new.wide"))
    try:
        with files.explained(out):
            writer = Writer(beside, unit)
            yield writer
            writer.close()
            if out != STANDARD_OUTPUT and writer.count:
                files.rename(_pack(beside, packed, out.suffix), target)
        if out == STANDARD_OUTPUT:
            _print(beside)
    finally:
        for path in (beside, packed, wide):
            path.unlink(missing_ok=True)


def _print(path: Path) -> None:
    with path.open("rb") as plain:
        shutil.copyfileobj(plain, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _pack(plain: Path, packed: Path, ending: str) -> Path:
    """The file to rename: packed if the ending asks for it."""
    if ending not in PACKERS:
        return plain
    with plain.open("rb") as source, packed.open("wb") as raw, PACKERS[ending](raw) as target:
        shutil.copyfileobj(source, target)
    return packed
