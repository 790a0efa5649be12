"""One text file (plain, gzip or xz, told apart by content) as a stream of documents, in bounded memory.

All line ends (CRLF, lone CR) become \\n; a byte order mark chooses between the Unicode encodings and is dropped.
Documents are never empty or white space only, and neither begin nor end with a line end; nothing else is changed.
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
from firth.data import packed
from firth.errors import FirthError, unknown

BLOCK = 1 << 20  # bytes read at once; in "auto", also the part of a file that decides its unit
LARGE = 1 << 20  # characters; a document that grows beyond is cut at the next line end
LONG_LINE = 16 << 20  # characters; must be at least twice LARGE, so that a cut line also ends its document
HEAD = 8192  # bytes looked at to tell text from other files
CONTROLS = 0.1  # share of control characters in the head above which a file is not text

MARKS = {  # longest first: the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Encodings that a mark may overrule, and what they mean without one.
MARKED = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
# Not ways to write a text file: some cannot be read in pieces, the others can produce half characters.
NOT_FILES = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"}
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b")) + b"\x7f"
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class TextFile:
    """A file of documents; `shown` is its name in messages, `alone` says that it is not one of a folder's files."""

    path: Path
    shown: str
    config: Text
    alone: bool = True

    def __iter__(self) -> Iterator[str]:
        """The documents in the file's order."""
        pieces = texts(self)
        unit = self.config.document
        if unit == "auto":
            unit, pieces = _choose_unit(pieces, self.alone)
        empty = True
        for document in UNITS[unit](lines(pieces, self)):
            empty = False
            yield document
        if self.alone and empty:
            raise no_text(self.shown)

    def digest(self) -> bytes:
        """The sha256 of the bytes as they are on disk, and of the rule that `alone` stands for."""
        with packed.reading(self.shown), self.path.open("rb") as raw:
            content = hashlib.file_digest(raw, "sha256").digest()
        return content + bytes([self.alone])

    def verdict(self) -> Literal["text", "empty", "binary"]:
        """What the first bytes say about the file."""
        blocks = packed.blocks(self.path, self.shown, HEAD)
        head = next(blocks, b"")
        blocks.close()
        if not head:
            return "empty"
        return "binary" if _is_binary(head, _encoding(head, self.config.encoding)) else "text"


def checked(file: TextFile) -> TextFile:
    """The file, if its first bytes look like text."""
    verdict = file.verdict()
    if verdict == "empty":
        raise FirthError("the file is empty", where=file.shown, do="give a file with text")
    if verdict == "binary":
        do = "give plain text, or name its encoding with --encoding (such as utf-16)"
        raise FirthError("a binary file, not text", where=file.shown, do=do)
    return file


def no_text(shown: str) -> FirthError:
    """The error for a source without a single document."""
    return FirthError("no text in it", where=shown, do="give a file with at least one line of text")


def check_encoding(name: str) -> str:
    """The codec's own name; an error if Python has no such text encoding."""
    try:
        b"a".decode(name, "replace")
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        found = ""
    if not found or found in NOT_FILES:
        raise unknown("encoding", name, {n.replace("_", "-") for n in aliases.values()} - NOT_FILES)
    return found


# --- encodings ----------------------------------------------------------------------------------------------------


def _encoding(head: bytes, name: str) -> str:
    """The encoding of a file: the one named, unless it is Unicode and a byte order mark tells more."""
    encoding = check_encoding(name)
    if encoding in MARKED:
        return next((marked for mark, marked in MARKS.items() if head.startswith(mark)), MARKED[encoding])
    return encoding


def _is_binary(head: bytes, encoding: str) -> bool:
    """Whether the bytes look like no text; encodings that are not a superset of ASCII cannot be judged so."""
    if " \n".encode(encoding, "replace") != b" \n":
        return False
    controls = len(head) - len(head.translate(None, CONTROL_BYTES))
    return b"\0" in head or controls > CONTROLS * len(head)


# --- text ---------------------------------------------------------------------------------------------------------


def texts(file: TextFile, translate: bool = True) -> Iterator[str]:
    """The decoded content in non-empty pieces; line ends become \\n, unless they are to stay what they are."""
    blocks = packed.blocks(file.path, file.shown, BLOCK)
    first = next(blocks, b"")
    encoding = _encoding(first, file.config.encoding)
    decoder = codecs.getincrementaldecoder(encoding)(file.config.errors)
    newlines = io.IncrementalNewlineDecoder(None, translate=translate)
    offset, line, begun = 0, 1, False
    for block in chain((first,) if first else (), blocks, (b"",)):  # the empty one flushes both decoders
        offset += len(block)
        try:
            text = newlines.decode(decoder.decode(block, not block), not block)
        except UnicodeDecodeError as error:
            before = newlines.decode(error.object[: error.start].decode(encoding, "replace"), True)
            at = offset - len(error.object) + error.start  # the object begins with bytes kept from earlier blocks
            raise _bad_byte(error, file, at, line + before.count("\n")) from error
        line += text.count("\n")
        text = text if begun else text.removeprefix("\ufeff")
        if text:
            begun = True
            yield text


def _bad_byte(error: UnicodeDecodeError, file: TextFile, offset: int, line: int) -> FirthError:
    byte = f"byte 0x{error.object[error.start]:02x}" if error.start < len(error.object) else "the end"
    what = f"{byte} at offset {offset} (line {line}) is not valid {error.encoding}"
    return FirthError(what, where=file.shown, do="use --errors replace, or --encoding NAME if it is another encoding")


def lines(pieces: Iterator[str], file: TextFile) -> Iterator[list[str]]:
    """The lines without their ends, many at a time; over-long ones are refused or come in several pieces."""
    tail, number = "", 1
    for text in pieces:
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
    """Where to cut a long line: after the last white space that leaves a piece of at least half the length."""
    space = max(line.rfind(mark, LONG_LINE // 2, LONG_LINE) for mark in (" ", "\t", "\u3000"))
    return space + 1 if space >= 0 else LONG_LINE


# --- documents ----------------------------------------------------------------------------------------------------


def _choose_unit(texts: Iterator[str], alone: bool) -> tuple[str, Iterator[str]]:
    """A small file of a folder is one document; any other is paragraphs if it has a blank line, else lines.

    A blank line at the end of the file says nothing; two empty ones at its beginning do (see `writing`)."""
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
    held, size = [], 0
    for lines in blocks:
        for line in lines:
            blank = not line or line.isspace()
            if not blank:
                held.append(line)
                size += len(line) + 1
            if held and (blank or size > LARGE):
                yield "\n".join(held)
                held, size = [], 0
    if held:
        yield "\n".join(held)


def _whole(blocks: Iterator[list[str]]) -> Iterator[str]:
    held, size = [], 0
    for lines in chain(blocks, ([None],)):  # None: the end
        for line in lines:
            if line is not None:
                held.append(line)
                size += len(line) + 1
            if line is None or size > LARGE:
                text = "\n".join(held).strip("\n")
                if text and not text.isspace():
                    yield text
                held, size = [], 0


UNITS = {"file": _whole, "paragraph": _paragraphs, "line": _single}
