"""Lines of labelled files with their numbers, and a file's line format: what must be known to write it byte for byte.

A line ends with \\n, or \\r\\n in a file whose first line does; a lone \\r is a character like any other.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from firth.config.schema import Text
from firth.datasets import compression, text_files
from firth.errors import FirthError

MAX_CHARACTERS = 1 << 30  # of a file that is read whole
LINE = re.compile(r" ?\(?\bline (\d+)\)?")  # how errors of `text_files` name a line


class LineFormat(NamedTuple):
    """How the lines of a file are joined."""

    newline: str = "\n"
    final_newline: bool = True  # the last line ends with one too
    byte_order_mark: bool = False  # the file begins with one


UNIX = LineFormat()


class EncodedPath(type(Path())):
    """The path of a file whose text is not UTF-8."""

    encoding = "utf-8"


def with_encoding(path: str | Path, encoding: str) -> Path:
    """The path with the encoding that readers decode it by."""
    encoded = EncodedPath(path)
    encoded.encoding = text_files.check_encoding(encoding)
    return encoded


def lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file (plain, gzip, xz or zstd) with their numbers, without their ends."""
    number = 0
    for block in blocks(path):
        yield from enumerate(block, number + 1)
        number += len(block)


def blocks(path: str | Path) -> Iterator[list[str]]:
    """The same lines without numbers, many at a time (faster)."""
    file = text_file(path)
    end = None
    try:
        for block in text_files.split_lines(text_files.decode_text(file, translate=False), file):
            if end is None:
                end = "\r" if block[0].endswith("\r") else ""
            yield [line.removesuffix(end) for line in block] if end else block
    except FirthError as error:
        raise _with_location(error, path) from error.__cause__


def paragraphs(blocks: Iterable[list[str]]) -> Iterator[tuple[int, list[str], int]]:
    """The lines between empty lines, with the number of the first and the count of empty lines that follow."""
    number, first, lines, gap = 0, 1, [], 0
    for block in blocks:
        for line in block:
            number += 1
            if not line:
                gap += 1
                continue
            if gap:
                if lines:
                    yield first, lines, gap
                lines, gap, first = [], 0, number
            lines.append(line)
    if lines:
        yield first, lines, gap


def read_whole(path: str | Path) -> str:
    """The whole content of a file, line ends as they are."""
    blocks, size = [], 0
    try:
        for text in text_files.decode_text(text_file(path), translate=False):
            blocks.append(text)
            size += len(text)
            if size > MAX_CHARACTERS:
                raise FirthError(f"longer than {MAX_CHARACTERS >> 20} MB", where=path, do="cut it into several files")
    except FirthError as error:
        raise _with_location(error, path) from error.__cause__
    return "".join(blocks)


def _with_location(error: FirthError, path: str | Path) -> FirthError:
    """The error with its line in `where`, and with advice that holds for labelled files too."""
    line = LINE.search(error.what)
    if line and isinstance(error.__cause__, UnicodeDecodeError):
        do = "save it as UTF-8, or name its encoding: --encoding latin-1, or another"
        return FirthError(LINE.sub("", error.what), where=at(path, int(line[1])), do=do)
    if line and line.start() == 0:
        what = "the line" + LINE.sub("", error.what)
        return FirthError(what, where=at(path, int(line[1])), do="split it")
    return error


def detect_line_format(path: str | Path) -> LineFormat:
    """The line format of a file."""
    head, last = b"", b""
    for block in compression.blocks(Path(path), str(path), text_files.BLOCK):
        head, last = head or block, block
    first, newline, _ = head.partition(b"\n")
    crlf = bool(newline) and first.endswith(b"\r")
    return LineFormat("\r\n" if crlf else "\n", not last or last.endswith(b"\n"), head.startswith(b"\xef\xbb\xbf"))


def save_lines(path: str | Path, rows: Iterable[str], line_format: LineFormat = UNIX) -> None:
    """Write lines to a file as UTF-8, compressed if its name ends in .gz or .xz; it appears only when complete."""
    with compression.open_atomic(Path(path)) as file:
        _write(file, rows, line_format)


def _write(file: BinaryIO, rows: Iterable[str], line_format: LineFormat) -> None:
    """Write the lines as a stream: a file may be larger than memory."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        lines = iter(rows)
        first = next(lines, None)
        if first is not None:
            text.write(_opening(first, line_format))
            for row in lines:
                text.write(line_format.newline + row)
            text.write(line_format.newline if line_format.final_newline else "")
        text.flush()
    finally:
        text.detach()


def _opening(first: str, line_format: LineFormat) -> str:
    """The first line as written: a reader removes a byte order mark, and infers the line ends from this line."""
    if first.endswith("\r") and line_format.newline == "\n":
        what = "the first line ends with a carriage return, which would be read as part of the line end"
        raise FirthError(what, do="write jsonl, or remove it")
    return "\ufeff" * (line_format.byte_order_mark or first.startswith("\ufeff")) + first


def at(path: str | Path, line: int) -> str:
    """File and line, for an error."""
    return f"{path}:{line}" if line else str(path)


def text_file(path: str | Path) -> text_files.TextFile:
    """The file, if it exists and looks like text."""
    path = single_file(path)
    encoding = path.encoding if isinstance(path, EncodedPath) else "utf-8"
    return text_files.require_text(text_files.TextFile(path, str(path), Text(encoding=encoding)))


def single_path(path: str | Path) -> Path:
    """The path; an error if there are several."""
    if not isinstance(path, (str, Path)):
        what = f"{len(path)} files, but this format is read from one"
        raise FirthError(what, where=", ".join(map(str, path)), do="give one, or name the format with --format")
    return path if isinstance(path, Path) else Path(path)


def single_file(path: str | Path) -> Path:
    """The path of an existing file; an error otherwise."""
    path = single_path(path)
    with compression.explain_read_errors(str(path)):  # a name can be too long for the file system
        if path.is_file():
            return path
        if path.is_dir():
            do = "give a file in it (a folder of images: --format image-folder)"
            raise FirthError("a folder, not a file", where=path, do=do)
        if path.exists():
            raise FirthError("a device or a pipe, not a file", where=path, do="put its content into a file first")
    raise compression.missing_file(str(path))
