"""A folder for TensorBoard's embedding projector: vectors in vectors.tsv, words (and counts if known) in
metadata.tsv."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.datasets import compression
from firth.datasets.compression import open_atomic
from firth.embeddings.formats import vector_lines, vector_output
from firth.embeddings.formats.vector_lines import VectorRows
from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.runs import atomic_files

VECTORS, METADATA = "vectors.tsv", "metadata.tsv"
_COLUMNS = ("word", "count")


def read(file: BinaryIO, name: str, size: int | None) -> WordVectors:
    """The word vectors of an opened vectors.tsv; the words are in metadata.tsv beside it."""
    words, counts = _read_metadata(Path(name).with_name(METADATA))
    rows, number = None, 1
    for block in vector_lines.read_blocks(file, name):
        named = b"".join(b"-\t" + line + b"\n" for line in block.split(b"\n") if line.strip())  # with a dummy word
        if not named:  # blank lines alone
            number += block.count(b"\n")
            continue
        rows = rows or VectorRows(len(words), vector_lines.infer_width(named), name)
        names, vectors = vector_lines.parse_block(named, rows.width, name, number)
        if rows.size + len(names) > len(words):
            raise FirthError(f"more vectors than the {len(words)} words of {METADATA}", where=name)
        rows.add(names, vectors)
        number += block.count(b"\n")
    if rows is None or rows.size < len(words):
        count = rows.size if rows else 0
        raise FirthError(f"{count} vectors for the {len(words)} words of {METADATA}", where=name)
    return WordVectors(words, rows.vectors[: rows.size], counts=counts, norms=rows.norms[: rows.size], where=name)


def _read_metadata(path: Path) -> tuple[WordTable, np.ndarray | None]:
    """The words, and the counts if there is a column `count`; with several columns the first line is a header."""
    with compression.explain_read_errors(str(path)):
        if not path.is_file():
            raise FirthError("no words: the projector's metadata file is missing", where=path, do=f"add {METADATA}")
        table = [line.split("\t") for line in path.read_text("utf-8", "replace").replace("\r\n", "\n").split("\n")]
    table = table[:-1] if table[-1] == [""] else table
    titles, rows = (table[0], table[1:]) if table and len(table[0]) > 1 else ([], table)
    if not rows:
        raise FirthError("no words", where=path, do="write one per line")
    column = titles.index("count") if "count" in titles else 0
    try:
        counts = np.array([int(row[column]) for row in rows], np.int64) if column else None
    except (ValueError, IndexError, OverflowError):
        raise FirthError("a count is not an integer", where=path, do="correct the file") from None
    return WordTable.of(row[0] for row in rows), counts


def write(store: WordVectors, path: Path) -> None:
    """Write both files into a folder, which is created if needed."""
    vector_output.require_without(store, "\t\r", "a table", path)
    atomic_files.make_folder(path)
    with open_atomic(path / METADATA) as file:
        if store.counts is None:
            file.write(store.words.blob)
        else:
            pairs = zip(store.words, store.counts.tolist(), strict=True)
            file.write("".join(f"{word}\t{count}\n" for word, count in (_COLUMNS, *pairs)).encode())
    with open_atomic(path / VECTORS) as file:
        line = "\t".join(["%.9g"] * store.width)
        for _, rows in vector_output.row_blocks(store):
            file.write("".join(f"{line % tuple(row)}\n" for row in rows.tolist()).encode())
