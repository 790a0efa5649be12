"""A folder for TensorBoard's projector: vectors.tsv has numbers only, metadata.tsv the words, with counts if known."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.data import packed
from firth.data.packed import replacing
from firth.errors import FirthError
from firth.runs import files
from firth.vectors.files import lines, output
from firth.vectors.files.lines import Rows
from firth.vectors.store import WordVectors
from firth.vectors.words import Words

VECTORS, METADATA = "vectors.tsv", "metadata.tsv"
_TITLES = ("word", "count")


def read(file: BinaryIO, shown: str, size: int | None) -> WordVectors:
    """The store of an opened vectors.tsv; the words are in metadata.tsv beside it."""
    words, counts = _metadata(Path(shown).with_name(METADATA))
    rows, number = None, 1
    for block in lines.blocks(file, shown):
        named = b"".join(b"-\t" + line + b"\n" for line in block.split(b"\n") if line.strip())  # as if with words
        rows = rows or Rows(len(words), lines.width_of(named), shown)
        names, vectors = lines.read_block(named, rows.width, shown, number)
        if rows.size + len(names) > len(words):
            raise FirthError(f"more vectors than the {len(words)} words of {METADATA}", where=shown)
        rows.add(names, vectors)
        number += block.count(b"\n")
    if rows is None or rows.size < len(words):
        found = rows.size if rows else 0
        raise FirthError(f"{found} vectors for the {len(words)} words of {METADATA}", where=shown)
    return WordVectors(words, rows.vectors[: rows.size], counts=counts, lengths=rows.lengths[: rows.size], where=shown)


def _metadata(path: Path) -> tuple[Words, np.ndarray | None]:
    """The words, and the counts if a column is called so; where there are several columns the first line names them."""
    with packed.reading(str(path)):
        if not path.is_file():
            raise FirthError("no words: the projector keeps them beside the vectors", where=path, do=f"add {METADATA}")
        table = [line.split("\t") for line in path.read_text("utf-8", "replace").replace("\r\n", "\n").split("\n")]
    table = table[:-1] if table[-1] == [""] else table
    titles, rows = (table[0], table[1:]) if table and len(table[0]) > 1 else ([], table)
    if not rows:
        raise FirthError("no words", where=path, do="one on each line")
    place = titles.index("count") if "count" in titles else 0
    try:
        counts = np.array([int(row[place]) for row in rows], np.int64) if place else None
    except (ValueError, IndexError, OverflowError):
        raise FirthError("a count that is not a whole number", where=path, do="mend the file") from None
    return Words.of(row[0] for row in rows), counts


def write(store: WordVectors, path: Path) -> None:
    """Both files into a folder, which is made if need be."""
    output.require_plain(store, "\t\r", "a table", path)
    files.make_folder(path)
    with replacing(path / METADATA) as file:
        if store.counts is None:
            file.write(store.words.blob)
        else:
            pairs = zip(store.words, store.counts.tolist(), strict=True)
            file.write("".join(f"{word}\t{count}\n" for word, count in (_TITLES, *pairs)).encode())
    with replacing(path / VECTORS) as file:
        line = "\t".join(["%.9g"] * store.width)
        for _, rows in output.row_blocks(store):
            file.write("".join(f"{line % tuple(row)}\n" for row in rows.tolist()).encode())
