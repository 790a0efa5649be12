"""GloVe's text: no first line, words that may have spaces in them, `<unk>` last if it is there."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from firth.data.packed import replacing
from firth.errors import FirthError
from firth.vectors.files import lines, output
from firth.vectors.files.lines import Rows
from firth.vectors.store import WordVectors


def read(file: BinaryIO, shown: str, size: int | None) -> WordVectors:
    """The store of an opened file, in two passes: the first counts lines, so that memory is taken once."""
    width = lines.width_of(next(lines.blocks(file, shown), b""))
    if width < 1:
        raise FirthError("no line with a word and numbers", where=f"{shown}:1", do="give a file of vectors")
    file.seek(0)
    rows = Rows(lines.count_lines(file, shown), width, shown)
    file.seek(0)
    lines.read_rows(file, rows, 1)
    return rows.store()


def write(store: WordVectors, path: Path) -> None:
    """A line for each word; one that could be taken for another format's first line keeps a point in its number."""
    form = "%.8e" if store.width == 1 else "%.9g"
    with replacing(path) as file:
        for low, rows in output.row_blocks(store):
            for text in lines.rows_text(store.words[low : low + len(rows)], rows, form):
                file.write(text)
