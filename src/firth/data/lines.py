"""Lines of labelled files, with their numbers, and the shape of a file: what must be known to write it byte for byte.

A line ends with \\n, or \\r\\n in a file whose first line does; a lone \\r is a character like any other.
"""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from firth.config.schema import Text
from firth.data import packed, reading
from firth.errors import FirthError
from firth.runs import files

WHOLE = 1 << 30  # characters of a file that has to be read in one piece


class Shape(NamedTuple):
    """How the lines of a file are put together."""

    newline: str = "\n"
    closed: bool = True  # the last line has an end too
    mark: bool = False  # a byte order mark stands first


def lines(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The lines of a file (plain, gzip, xz or zstd) with their numbers, without their ends."""
    number = 0
    for block in blocks(path, encoding):
        yield from enumerate(block, number + 1)
        number += len(block)


def blocks(path: str | Path, encoding: str = "utf-8") -> Iterator[list[str]]:
    """The same lines, many at a time: the fast way."""
    file = text_file(path, encoding)
    end = None
    for block in reading.lines(reading.texts(file, translate=False), file):
        if end is None:
            end = "\r" if block[0].endswith("\r") else ""
        yield [line.removesuffix(end) for line in block] if end else block


def whole(path: str | Path, encoding: str = "utf-8") -> str:
    """The content of a file in one piece, line ends as they are."""
    pieces, size = [], 0
    for text in reading.texts(text_file(path, encoding), translate=False):
        pieces.append(text)
        size += len(text)
        if size > WHOLE:
            raise FirthError(f"longer than {WHOLE >> 20} MB", where=path, do="cut it into several files")
    return "".join(pieces)


def shape(path: str | Path) -> Shape:
    """The shape of a file."""
    head, last = b"", b""
    for block in packed.blocks(Path(path), str(path), reading.BLOCK):
        head, last = head or block, block
    first, newline, _ = head.partition(b"\n")
    crlf = bool(newline) and first.endswith(b"\r")
    return Shape("\r\n" if crlf else "\n", not last or last.endswith(b"\n"), head.startswith(b"\xef\xbb\xbf"))


def save(path: str | Path, rows: Iterable[str], shape: Shape = Shape()) -> None:  # noqa: B008 (a value)
    """Write lines to a file as UTF-8, packed if its name ends in .gz or .xz; it appears only when it is whole."""
    path = Path(path)
    text = shape.newline.join(rows)
    if text and shape.closed:
        text += shape.newline
    content = ("\ufeff" * shape.mark + text).encode()
    pack = {".gz": lambda data: gzip.compress(data, mtime=0), ".xz": lzma.compress}.get(path.suffix)
    files.replace_file(path, pack(content) if pack else content)


def at(path: str | Path, line: int) -> str:
    """A place for an error."""
    return f"{path}:{line}" if line else str(path)


def text_file(path: str | Path, encoding: str) -> reading.TextFile:
    """The file, if there is one and it looks like text."""
    path = Path(path)
    with packed.reading(str(path)):  # a name can be too long to ask for
        found = path.is_file()
    if not found:
        raise packed.missing(str(path))
    return reading.checked(reading.TextFile(path, str(path), Text(encoding=reading.check_encoding(encoding))))
