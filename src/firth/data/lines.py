"""Lines of labelled files, with their numbers, and the shape of a file: what must be known to write it byte for byte.

A line ends with \\n, or \\r\\n in a file whose first line does; a lone \\r is a character like any other.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from firth.config.schema import Text
from firth.data import packed, reading
from firth.errors import FirthError

WHOLE = 1 << 30  # characters of a file that has to be read in one piece
PLACE = re.compile(r" ?\(?\bline (\d+)\)?")  # what the reader of plain text says of a place


class Shape(NamedTuple):
    """How the lines of a file are put together."""

    newline: str = "\n"
    closed: bool = True  # the last line has an end too
    mark: bool = False  # a byte order mark stands first


class Encoded(type(Path())):
    """A path of a file whose text is not UTF-8."""

    encoding = "utf-8"


def encoded(path: str | Path, encoding: str) -> Path:
    """The path, for all readers to know how its text is written."""
    found = Encoded(path)
    found.encoding = reading.check_encoding(encoding)
    return found


def lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file (plain, gzip, xz or zstd) with their numbers, without their ends."""
    number = 0
    for block in blocks(path):
        yield from enumerate(block, number + 1)
        number += len(block)


def blocks(path: str | Path) -> Iterator[list[str]]:
    """The same lines, many at a time: the fast way."""
    file = text_file(path)
    end = None
    try:
        for block in reading.lines(reading.texts(file, translate=False), file):
            if end is None:
                end = "\r" if block[0].endswith("\r") else ""
            yield [line.removesuffix(end) for line in block] if end else block
    except FirthError as error:
        raise _placed(error, path) from error.__cause__


def whole(path: str | Path) -> str:
    """The content of a file in one piece, line ends as they are."""
    pieces, size = [], 0
    try:
        for text in reading.texts(text_file(path), translate=False):
            pieces.append(text)
            size += len(text)
            if size > WHOLE:
                raise FirthError(f"longer than {WHOLE >> 20} MB", where=path, do="cut it into several files")
    except FirthError as error:
        raise _placed(error, path) from error.__cause__
    return "".join(pieces)


def _placed(error: FirthError, path: str | Path) -> FirthError:
    """The error with its line in its place, and with advice that holds for labelled files too."""
    found = PLACE.search(error.what)
    if found and isinstance(error.__cause__, UnicodeDecodeError):
        do = "save it as UTF-8, or name its encoding: --encoding latin-1, or another"
        return FirthError(PLACE.sub("", error.what), where=at(path, int(found[1])), do=do)
    if found and found.start() == 0:
        what = "the line" + PLACE.sub("", error.what)
        return FirthError(what, where=at(path, int(found[1])), do="cut it into several")
    return error


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
    with packed.replacing(Path(path)) as file:
        _write(file, rows, shape)


def _write(file: BinaryIO, rows: Iterable[str], shape: Shape) -> None:
    """The lines as they come: a file may be larger than memory."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        found = iter(rows)
        first = next(found, None)
        if first is not None:
            text.write(_opening(first, shape))
            for row in found:
                text.write(shape.newline + row)
            text.write(shape.newline if shape.closed else "")
        text.flush()
    finally:
        text.detach()


def _opening(first: str, shape: Shape) -> str:
    """The first line as it must be written to be read as it is: a reader takes a mark off, and learns the line end."""
    if first.endswith("\r") and shape.newline == "\n":
        what = "the first line ends with a carriage return, which would be taken for a part of the line end"
        raise FirthError(what, do="write jsonl, or remove it")
    return "\ufeff" * (shape.mark or first.startswith("\ufeff")) + first


def at(path: str | Path, line: int) -> str:
    """A place for an error."""
    return f"{path}:{line}" if line else str(path)


def text_file(path: str | Path) -> reading.TextFile:
    """The file, if there is one and it looks like text."""
    path = one_file(path)
    encoding = path.encoding if isinstance(path, Encoded) else "utf-8"
    return reading.checked(reading.TextFile(path, str(path), Text(encoding=encoding)))


def one_path(path: str | Path) -> Path:
    """The path, if it is one."""
    if not isinstance(path, (str, Path)):
        what = f"{len(path)} files, but this format is read from one"
        raise FirthError(what, where=", ".join(map(str, path)), do="give one, or say what they are with --format")
    return path if isinstance(path, Path) else Path(path)


def one_file(path: str | Path) -> Path:
    """The path, if it is one and there is a file."""
    path = one_path(path)
    with packed.reading(str(path)):  # a name can be too long to ask for
        if path.is_file():
            return path
        if path.is_dir():
            do = "give a file in it (a folder of pictures: --format image-folder)"
            raise FirthError("a folder, not a file", where=path, do=do)
        if path.exists():
            raise FirthError("a device or a pipe, not a file", where=path, do="put its content into a file first")
    raise packed.missing(str(path))
