"""One text file (plain, gzip, xz or zstd, recognised by content) as a stream of documents, in bounded memory.

All line ends (CRLF, lone CR) become \\n; a byte order mark chooses between the Unicode encodings and is dropped.
Documents are never empty or white space only, and neither begin nor end with a line end; nothing else changes.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from encodings.aliases import aliases
from itertools import chain
from pathlib import Path
from typing import Literal

from firth.config.schema import Text
from firth.datasets import compression
from firth.errors import FirthError, unknown

BLOCK = 1 << 20  # bytes read at once; in "auto", also the part of a file that decides its unit
LARGE = 1 << 20  # characters; a document that grows beyond is cut at the next line end
LONG_LINE = 16 << 20  # characters; must be at least twice LARGE, so that a cut line also ends its document
HEAD = 8192  # bytes that decide whether a file is text
CONTROLS = 0.1  # fraction of control characters in the head above which a file is not text

BYTE_ORDER_MARKS = {  # longest first: the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Encodings that a byte order mark may override, and what they mean without one.
BOM_ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
# Not encodings of text files: some cannot be decoded in blocks, the others can produce lone surrogates.
NOT_FILES = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"}
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b")) + b"\x7f"
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class TextFile:
    """A file of documents; `shown` is its name in messages, `alone` is False for one of a folder's files."""

    path: Path
    shown: str
    config: Text
    alone: bool = True

    def __iter__(self) -> Iterator[str]:
        """The documents in the file's order."""
        blocks = decode_text(self)
        unit = self.config.document
        if unit == "auto":
            unit, blocks = _choose_unit(blocks, self.alone)
        empty = True
        for document in UNITS[unit](split_lines(blocks, self)):
            empty = False
            yield document
        if self.alone and empty:
            raise no_text_error(self.shown)

    def digest(self) -> bytes:
        """The sha256 of the bytes on disk, and `alone`, which decides how they are split into documents."""
        with compression.explain_read_errors(self.shown), self.path.open("rb") as raw:
            content = hashlib.file_digest(raw, "sha256").digest()
        return content + bytes([self.alone])

    def content_type(self) -> Literal["text", "empty", "binary"]:
        """The kind of content, by the first bytes."""
        blocks = compression.blocks(self.path, self.shown, HEAD)
        head = next(blocks, b"")
        blocks.close()
        if not head:
            return "empty"
        return "binary" if _is_binary(head, _encoding(head, self.config.encoding)) else "text"


def require_text(file: TextFile) -> TextFile:
    """The file, if its first bytes look like text."""
    kind = file.content_type()
    if kind == "empty":
        raise FirthError("the file is empty", where=file.shown, do="give a file with text")
    if kind == "binary":
        do = "give plain text, or name its encoding with --encoding (such as utf-16)"
        raise FirthError("a binary file, not text", where=file.shown, do=do)
    return file


def no_text_error(shown: str) -> FirthError:
    """The error for a source without a single document."""
    return FirthError("no text in it", where=shown, do="give a file with at least one line of text")


def check_encoding(name: str) -> str:
    """The codec's own name; an error if Python has no such text encoding."""
    try:
        b"a".decode(name, "replace")
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        codec = ""
    if not codec or codec in NOT_FILES:
        raise unknown("encoding", name, {n.replace("_", "-") for n in aliases.values()} - NOT_FILES)
    return codec


# --- encodings ----------------------------------------------------------------------------------------------------


def _encoding(head: bytes, name: str) -> str:
    """The encoding of a file: the configured one, unless it is Unicode and a byte order mark decides."""
    encoding = check_encoding(name)
    if encoding in BOM_ENCODINGS:
        return next(
            (marked for mark, marked in BYTE_ORDER_MARKS.items() if head.startswith(mark)), BOM_ENCODINGS[encoding]
        )
    return encoding


def _is_binary(head: bytes, encoding: str) -> bool:
    """Whether the bytes do not look like text; encodings that do not extend ASCII cannot be judged."""
    if " \n".encode(encoding, "replace") != b" \n":
        return False
    controls = len(head) - len(head.translate(None, CONTROL_BYTES))
    return b"\0" in head or controls > CONTROLS * len(head)


# --- text ---------------------------------------------------------------------------------------------------------


def decode_text(file: TextFile, translate: bool = True) -> Iterator[str]:
    """The decoded content in non-empty blocks; line ends become \\n if `translate`."""
    blocks = compression.blocks(file.path, file.shown, BLOCK)
    first = next(blocks, b"")
    encoding = _encoding(first, file.config.encoding)
    decoder = codecs.getincrementaldecoder(encoding)(file.config.encoding_errors)
    newlines = io.IncrementalNewlineDecoder(None, translate=translate)
    offset, line, started = 0, 1, False
    for block in chain((first,) if first else (), blocks, (b"",)):  # the empty one flushes both decoders
        offset += len(block)
        try:
            text = newlines.decode(decoder.decode(block, not block), not block)
        except UnicodeDecodeError as error:
            before = newlines.decode(error.object[: error.start].decode(encoding, "replace"), True)
            at = offset - len(error.object) + error.start  # the object begins with bytes kept from earlier blocks
            raise _bad_byte(error, file, at, line + before.count("\n")) from error
        except UnicodeError as error:  # a codec's own: an escape sequence without end
            what, do = f"not valid {encoding} ({error})", "name its encoding with --encoding"
            raise FirthError(what, where=file.shown, do=do) from error
        line += text.count("\n")
        text = text if started else text.removeprefix("\ufeff")
        if text:
            started = True
            yield text


def _bad_byte(error: UnicodeDecodeError, file: TextFile, offset: int, line: int) -> FirthError:
    byte = f"byte 0x{error.object[error.start]:02x}" if error.start < len(error.object) else "the end"
    what = f"{byte} at offset {offset} (line {line}) is not valid {error.encoding}"
    return FirthError(
        what, where=file.shown, do="use --encoding-errors replace, or --encoding NAME if it is another encoding"
    )


def split_lines(blocks: Iterator[str], file: TextFile) -> Iterator[list[str]]:
    """The lines without their ends, many at a time; over-long ones are refused or cut."""
    tail, number = "", 1
    for text in blocks:
        rows = (tail + text).split("\n")
        while len(rows[0]) > LONG_LINE:  # only the first can hold more than one block
            if file.config.long_lines == "refuse":
                what = f"line {number} is longer than {LONG_LINE >> 20} MB"
                raise FirthError(what, where=file.shown, do="cut it with --set data.long_lines=split")
            cut = _cut(rows[0])
            yield [rows[0][:cut]]
            rows[0] = rows[0][cut:]
        number += len(rows) - 1
        tail = rows.pop()
        if rows:
            yield rows
    if tail:
        yield [tail]


def _cut(line: str) -> int:
    """Where to cut a long line: after the last white space of the second half of the limit."""
    space = max(line.rfind(mark, LONG_LINE // 2, LONG_LINE) for mark in (" ", "\t", "\u3000"))
    return space + 1 if space >= 0 else LONG_LINE


# --- documents ----------------------------------------------------------------------------------------------------


def _choose_unit(texts: Iterator[str], alone: bool) -> tuple[str, Iterator[str]]:
    """A small file of a folder is one document; any other is paragraphs if it has a blank line, else lines.

    A blank line at the end of the file does not count; two empty ones at its beginning do (see `text_writer`)."""
    first, second = next(texts, ""), next(texts, "")
    if not alone and not second:
        unit = "file"
    else:
        unit = "paragraph" if BLANK_LINE.search(first.rstrip()) else "line"
    return unit, chain((first, second), texts)


def _single(blocks: Iterator[list[str]]) -> Iterator[str]:
    for lines in blocks:
        yield from [line for line in lines if line and not line.isspace()]


def _paragraphs(blocks: Iterator[list[str]]) -> Iterator[str]:
    current, size = [], 0
    for lines in blocks:
        for line in lines:
            blank = not line or line.isspace()
            if not blank:
                current.append(line)
                size += len(line) + 1
            if current and (blank or size > LARGE):
                yield "\n".join(current)
                current, size = [], 0
    if current:
        yield "\n".join(current)


def _whole(blocks: Iterator[list[str]]) -> Iterator[str]:
    current, size = [], 0
    for lines in chain(blocks, ([None],)):  # None: the end
        for line in lines:
            if line is not None:
                current.append(line)
                size += len(line) + 1
            if line is None or size > LARGE:
                text = "\n".join(current).strip("\n")
                if text and not text.isspace():
                    yield text
                current, size = [], 0


UNITS = {"file": _whole, "paragraph": _paragraphs, "line": _single}
