"""GloVe's text format: no header, words may contain spaces, an optional `<unk>` comes last."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from firth.datasets.compression import open_atomic
from firth.embeddings.formats import vector_lines, vector_output
from firth.embeddings.formats.vector_lines import VectorRows
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError


def read(file: BinaryIO, name: str, size: int | None) -> WordVectors:
    """The word vectors of an opened file, in two passes: the first counts lines, so that memory is allocated once."""
    width = vector_lines.infer_width(next(vector_lines.read_blocks(file, name), b""))
    if width < 1:
        raise FirthError("no line with a word and numbers", where=f"{name}:1", do="give a file of vectors")
    file.seek(0)
    rows = VectorRows(vector_lines.count_lines(file, name), width, name)
    file.seek(0)
    vector_lines.read_rows(file, rows, 1)
    return rows.word_vectors()


def write(store: WordVectors, path: Path) -> None:
    """A line for each word; at width 1 numbers keep a point, lest the first line looks like another format's header."""
    number_format = "%.8e" if store.width == 1 else "%.9g"
    with open_atomic(path) as file:
        for low, rows in vector_output.row_blocks(store):
            for text in vector_lines.format_rows(store.words[low : low + len(rows)], rows, number_format):
                file.write(text)
