"""word2vec's files, text (fastText's .vec too) and binary: a line `count width`, then each word with its vector."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.data.packed import replacing
from firth.errors import FirthError
from firth.vectors.files import lines, output
from firth.vectors.files.lines import Header, Rows
from firth.vectors.store import WordVectors

BLOCK = 1 << 19  # bytes read at a time: they stay in the processor's cache
LONGEST = 1 << 16  # bytes of a word
_AGAIN = "the file is damaged or of another format"


def read_text(file: BinaryIO, shown: str, size: int | None) -> WordVectors:
    """The store of an opened file; `size` is its length in bytes if that is known."""
    head = _header(file, shown)
    _require_room(head, 2 * head.width + 2, shown, size)
    rows = Rows(head.count, head.width, shown)
    lines.read_rows(file, rows, 2)
    return rows.store()


def read_binary(file: BinaryIO, shown: str, size: int | None) -> WordVectors:
    """The same for a binary file, with a line end behind each vector or without."""
    head = _header(file, shown)
    _require_room(head, 4 * head.width + 2, shown, size)
    rows, data = Rows(head.count, head.width, shown), b""
    while rows.size < head.count:
        block = file.read(BLOCK)
        if not block:
            raise lines.too_few(rows.size, head.count, shown)
        data = _take(data + block, rows)
    rest = (data + file.read(2)).strip(b"\n")
    if rest:
        raise FirthError(f"more behind its {head.count} vectors of width {head.width}", where=shown, do=_AGAIN)
    return rows.store()


def _take(data: bytes, rows: Rows) -> bytes:
    """Moves all whole rows of the data; gives back what is left."""
    words, starts, at, width = [], [], 0, 4 * rows.width
    for _ in range(rows.count - rows.size):
        space = data.find(b" ", at)
        if space < 0 or space + 1 + width > len(data):
            break
        words.append(data[at:space])
        starts.append(space + 1)
        at = space + 1 + width
    words = [word.lstrip(b"\n") for word in words]
    if not all(words) or (not words and data.find(b" ", 0, LONGEST) < 0 and len(data) > LONGEST):
        number = rows.size + 1 + (words.index(b"") if words else 0)
        raise FirthError(f"no word where vector {number} begins", where=rows.shown, do=_AGAIN)
    if words:  # rows begin at any byte: a view of all possible ones, of which some are taken
        view = np.ndarray(len(data) - width + 1, f"V{width}", data, 0, (1,))
        rows.room(len(words)).view(view.dtype)[:, 0] = view[starts]
        rows.fill(words)
    return data[at:]


def _header(file: BinaryIO, shown: str) -> Header:
    head = lines.header(file.readline(100))
    if head is None:
        raise FirthError("the first line is not `count width`", where=shown, do=_AGAIN)
    if not head.count or not head.width:
        what = f"{head.count} vectors of width {head.width}"
        raise FirthError(what, where=f"{shown}:1", do="there is nothing in it to read")
    return head


def _require_room(head: Header, least: int, shown: str, size: int | None) -> None:
    """An error, before memory is taken, if the file is too short for what its first line promises."""
    if size is not None and head.count * least > size:
        what = f"{size} bytes, too few for the {head.count} vectors of width {head.width} that its first line promises"
        raise FirthError(what, where=shown, do="the file is cut short, or its first line is wrong")


def write_text(store: WordVectors, path: Path) -> None:
    """As gensim and fastText read it."""
    output.require_plain(store, " ", "a word2vec file", path)
    with replacing(path) as file:
        file.write(f"{len(store)} {store.width}\n".encode())
        for low, rows in output.row_blocks(store):
            for text in lines.rows_text(store.words[low : low + len(rows)], rows):
                file.write(text)


def write_binary(store: WordVectors, path: Path) -> None:
    """Without line ends behind the vectors, as gensim writes it; all readers take that."""
    output.require_plain(store, " ", "a word2vec file", path)
    with replacing(path) as file:
        file.write(f"{len(store)} {store.width}\n".encode())
        for low, rows in output.row_blocks(store):
            words = store.words[low : low + len(rows)]
            rows = np.ascontiguousarray(rows, "<f4")
            file.write(b"".join(word.encode() + b" " + row.tobytes() for word, row in zip(words, rows, strict=True)))
