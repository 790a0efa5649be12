"""Writing a file of any size: beside, synced, renamed; packed if its name ends so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.data import packed
from firth.errors import FirthError
from firth.runs import files
from firth.vectors.store import WordVectors, row_lengths

ROWS = 4096  # rows written at a time


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write into; it takes its place whole at the end, or not at all. .gz and .xz are packed."""
    target = files.destination(path)
    if target.is_dir():
        raise FirthError("a folder stands in the way", where=path, do="name a file")
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with files.explained(path):
            with beside.open("wb") as raw:
                if path.suffix in packed.PACKERS:
                    with packed.PACKERS[path.suffix](raw) as file:
                        yield file
                else:
                    yield raw
                raw.flush()
                files.sync(raw.fileno())
            files.rename(beside, target)
            files.sync_folder(target.parent)
    finally:
        beside.unlink(missing_ok=True)


def row_blocks(store: WordVectors) -> Iterator[tuple[int, np.ndarray]]:
    """The vectors a block at a time with the number of the first; NaN is an error before it reaches a file."""
    for low in range(0, len(store), ROWS):
        rows = np.asarray(store.vectors[low : low + ROWS])
        row_lengths(rows, low, store.words)
        yield low, rows


def require_plain(store: WordVectors, signs: str, kind: str, path: Path) -> None:
    """An error if a word has one of these signs in it, which the format uses between words and numbers."""
    blob = store.words.blob.decode()
    for sign in signs:
        if sign in blob:
            word = next(word for word in store.words if sign in word)
            what = f"the word {word!r} has {_SIGNS[sign]} in it, which {kind} cannot hold"
            raise FirthError(what, where=path, do='put _ in its place, or use format "firth"')


_SIGNS = {" ": "a space", "\t": "a tab", "\0": "a zero byte", "\r": "a carriage return"}
