"""word2vec's text format (also fastText's .vec) and binary format: a header `count width`, then words and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.datasets.compression import open_atomic
from firth.embeddings.formats import vector_lines, vector_output
from firth.embeddings.formats.vector_lines import Header, VectorRows
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError

BLOCK = 1 << 19  # bytes read at a time: they stay in the processor's cache
MAX_WORD = 1 << 16  # bytes of a word
_DAMAGED = "the file is damaged or of another format"


def read_text(file: BinaryIO, name: str, size: int | None) -> WordVectors:
    """The word vectors of an opened text file; `size` is its length in bytes if known."""
    head = _read_header(file, name)
    _require_size(head, 2 * head.width + 2, name, size)
    rows = VectorRows(head.count, head.width, name)
    vector_lines.read_rows(file, rows, 2)
    return rows.word_vectors()


def read_binary(file: BinaryIO, name: str, size: int | None) -> WordVectors:
    """The word vectors of an opened binary file, with or without a newline after each vector."""
    head = _read_header(file, name)
    _require_size(head, 4 * head.width + 2, name, size)
    rows, data = VectorRows(head.count, head.width, name), b""
    while rows.size < head.count:
        block = file.read(BLOCK)
        if not block:
            raise vector_lines.too_few_error(rows.size, head.count, name)
        data = _parse_rows(data + block, rows)
    if (data + file.read(2)).strip(b"\n"):
        what = f"unexpected data after its {head.count} vectors of width {head.width}"
        raise FirthError(what, where=name, do=_DAMAGED)
    return rows.word_vectors()


def _parse_rows(data: bytes, rows: VectorRows) -> bytes:
    """Parse all complete rows of the data; returns the rest."""
    words, starts, at, width = [], [], 0, 4 * rows.width
    for _ in range(rows.count - rows.size):
        space = data.find(b" ", at)
        if space < 0 or space + 1 + width > len(data):
            break
        words.append(data[at:space])
        starts.append(space + 1)
        at = space + 1 + width
    words = [word.lstrip(b"\n") for word in words]
    if not all(words) or (not words and data.find(b" ", 0, MAX_WORD) < 0 and len(data) > MAX_WORD):
        number = rows.size + 1 + (words.index(b"") if words else 0)
        raise FirthError(f"no word where vector {number} begins", where=rows.name, do=_DAMAGED)
    if words:  # rows start at any byte: a view of all possible rows, of which the actual ones are selected
        view = np.ndarray(len(data) - width + 1, f"V{width}", data, 0, (1,))
        rows.next_rows(len(words)).view(view.dtype)[:, 0] = view[starts]
        rows.add_words(words)
    return data[at:]


def _read_header(file: BinaryIO, name: str) -> Header:
    head = vector_lines.parse_header(file.readline(100))
    if head is None:
        raise FirthError("the header is not `count width`", where=name, do=_DAMAGED)
    if not head.count or not head.width:
        what = f"{head.count} vectors of width {head.width}"
        raise FirthError(what, where=f"{name}:1", do="give a file that is not empty")
    return head


def _require_size(head: Header, min_row_bytes: int, name: str, size: int | None) -> None:
    """An error, before memory is allocated, if the file is too short for what its header says."""
    if size is not None and head.count * min_row_bytes > size:
        what = f"{size} bytes, too few for the {head.count} vectors of width {head.width} that its header says"
        raise FirthError(what, where=name, do="the file is truncated, or its header is wrong")


def write_text(store: WordVectors, path: Path) -> None:
    """Write the text format, as gensim and fastText read it."""
    vector_output.require_without(store, " ", "a word2vec file", path)
    with open_atomic(path) as file:
        file.write(f"{len(store)} {store.width}\n".encode())
        for low, rows in vector_output.row_blocks(store):
            for text in vector_lines.format_rows(store.words[low : low + len(rows)], rows):
                file.write(text)


def write_binary(store: WordVectors, path: Path) -> None:
    """Write the binary format without newlines after the vectors, as gensim does; all readers accept that."""
    vector_output.require_without(store, " ", "a word2vec file", path)
    with open_atomic(path) as file:
        file.write(f"{len(store)} {store.width}\n".encode())
        for low, rows in vector_output.row_blocks(store):
            words = store.words[low : low + len(rows)]
            rows = np.ascontiguousarray(rows, "<f4")
            file.write(b"".join(word.encode() + b" " + row.tobytes() for word, row in zip(words, rows, strict=True)))
