"""Writing documents to a text file that gives the same documents when it is read again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO

from firth.datasets.compression import COMPRESSORS
from firth.datasets.text_files import BLOCK
from firth.errors import FirthError
from firth.runs import atomic_files

STANDARD_OUTPUT = Path("-")
_MARK = b"\n\n"  # a blank line first: paragraphs, where the beginning of the file would not show it


def normalise(document: str, unit: str) -> str:
    """The document as it will be read again: line ends as \\n, and no blank line, which would split it."""
    lines = document.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (" " if unit == "line" else "\n").join(line for line in lines if line and not line.isspace())


class TextWriter:
    """One document per line, or blank lines between; "auto" begins with lines and switches at the first longer one."""

    def __init__(self, file: BinaryIO, folder: Path, unit: str) -> None:
        self._file, self._folder, self._unit, self._blank = file, folder, unit, unit in ("paragraph", "file")
        self._lines = self._first = 0  # of the first document: its lines and bytes
        self.count = 0

    def write(self, document: str) -> None:
        """Append a document, which must not be blank, normalised."""
        text = normalise(document, self._unit)
        if "\n" in text and not self._blank:
            self._copy(b"", b"\n")
            self._blank = True
        data = f"{text}\n".encode(errors="replace")
        if not self.count:
            self._lines, self._first = data.count(b"\n"), len(data)
        self._file.write(b"\n" + data if self._blank and self.count else data)
        self.count += 1

    def _copy(self, before: bytes, between: bytes) -> None:
        """Rewrite all lines so far, with something before them and between them."""
        with TemporaryFile(dir=self._folder) as lines:
            self._file.seek(0)
            shutil.copyfileobj(self._file, lines)
            self._file.seek(0)
            self._file.truncate()
            lines.seek(0)
            self._file.write(before)
            for number, line in enumerate(lines):
                self._file.write(between + line if number else line)

    def _needs_mark(self) -> bool:
        """Whether the beginning of the file, by which "auto" judges it, holds no blank line between documents."""
        return self._blank and (self._lines > 1 if self.count == 1 else self._first >= BLOCK // 2)

    def finish(self) -> None:
        """Write what is left."""
        if self._needs_mark():
            self._copy(_MARK, b"")
        self._file.flush()


class _EmptyError(Exception):
    """There are no documents."""


@contextmanager
def open_writer(out: Path, unit: str) -> Iterator[TextWriter]:
    """A writer; the file appears complete at the end, or not at all. .gz and .xz compress, - is standard output."""
    if out.is_dir():
        raise FirthError("a folder has this name", where=out, do="name a file")
    if out == STANDARD_OUTPUT:
        with atomic_files.explain_errors(out), _spooled(Path(gettempdir()), unit, sys.stdout.buffer) as writer:
            yield writer
        sys.stdout.buffer.flush()
        return
    target = atomic_files.destination(out)
    with (
        suppress(_EmptyError),
        atomic_files.explain_errors(out),
        atomic_files.replacing_at(target, 0o666) as descriptor,
        os.fdopen(descriptor, "w+b", closefd=False) as file,
    ):
        if out.suffix in COMPRESSORS:
            with COMPRESSORS[out.suffix](file) as packed, _spooled(target.parent, unit, packed) as writer:
                yield writer
        else:
            yield (writer := TextWriter(file, target.parent, unit))
            writer.finish()
        if not writer.count:
            raise _EmptyError


@contextmanager
def _spooled(folder: Path, unit: str, target: BinaryIO) -> Iterator[TextWriter]:
    """A writer to a file without a name, which is copied to the target at the end."""
    with TemporaryFile(dir=folder) as file:
        yield (writer := TextWriter(file, folder, unit))
        writer.finish()
        file.seek(0)
        shutil.copyfileobj(file, target)
