"""Writing documents to a text file that gives the same documents when it is read again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

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

    def __init__(self, path: Path, unit: str) -> None:
        self._path, self._unit, self._blank = path, unit, unit in ("paragraph", "file")
        self._file = path.open("w+b")
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
        temporary = self._path.with_name(self._path.name + ".wide")
        wide = temporary.open("w+b")
        self._file.seek(0)
        wide.write(before)
        for number, line in enumerate(self._file):
            wide.write(between + line if number else line)
        self._file.close()
        temporary.replace(self._path)
        self._file = wide

    def _needs_mark(self) -> bool:
        """Whether the beginning of the file, by which "auto" judges it, holds no blank line between documents."""
        return self._blank and (self._lines > 1 if self.count == 1 else self._first >= BLOCK // 2)

    def close(self) -> None:
        """Sync the file and close it."""
        if self._needs_mark():
            self._copy(_MARK, b"")
        self._file.flush()
        atomic_files.sync(self._file.fileno())
        self._file.close()


@contextmanager
def open_writer(out: Path, unit: str) -> Iterator[TextWriter]:
    """A writer; the file appears complete at the end, or not at all. .gz and .xz compress, - is standard output."""
    if out.is_dir():
        raise FirthError("a folder has this name", where=out, do="name a file")
    target = out if out == STANDARD_OUTPUT else atomic_files.destination(out)
    folder, name = (Path(gettempdir()), "firth") if out == STANDARD_OUTPUT else (target.parent, target.name)
    temporary, compressed, wide = (folder / f".{name}.{os.getpid()}.{end}" for end in ("new", "packed", "new.wide"))
    try:
        with atomic_files.explain_errors(out):
            writer = TextWriter(temporary, unit)
            yield writer
            writer.close()
            if out != STANDARD_OUTPUT and writer.count:
                atomic_files.rename(_compress(temporary, compressed, out.suffix), target)
        if out == STANDARD_OUTPUT:
            _print(temporary)
    finally:
        for path in (temporary, compressed, wide):
            path.unlink(missing_ok=True)


def _print(path: Path) -> None:
    with path.open("rb") as plain:
        shutil.copyfileobj(plain, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _compress(plain: Path, compressed: Path, suffix: str) -> Path:
    """The file to rename: compressed if the extension says so."""
    if suffix not in COMPRESSORS:
        return plain
    with plain.open("rb") as source, compressed.open("wb") as raw, COMPRESSORS[suffix](raw) as target:
        shutil.copyfileobj(source, target)
    return compressed
