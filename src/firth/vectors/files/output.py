"""Writing a file of any size: beside, synced, renamed; packed if its name ends so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from firth.errors import FirthError
from firth.vectors.store import WordVectors, row_lengths

ROWS = 4096  # rows written at a time


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
