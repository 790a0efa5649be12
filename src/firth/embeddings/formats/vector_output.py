"""Helpers of the writers of vector files: blocks of rows checked for NaN, and words that a format cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from firth.embeddings.word_vectors import WordVectors, row_norms
from firth.errors import FirthError

ROW_BLOCK = 4096  # rows written at a time


def row_blocks(store: WordVectors) -> Iterator[tuple[int, np.ndarray]]:
    """The vectors in blocks, each with its first row's index; NaN is an error before it reaches a file."""
    for low in range(0, len(store), ROW_BLOCK):
        rows = np.asarray(store.vectors[low : low + ROW_BLOCK])
        row_norms(rows, low, store.words)
        yield low, rows


def require_without(store: WordVectors, characters: str, kind: str, path: Path) -> None:
    """An error if a word contains one of these characters, which the format uses as separators."""
    blob = store.words.blob.decode()
    for character in characters:
        if character in blob:
            word = next(word for word in store.words if character in word)
            what = f"the word {word!r} has {_CHARACTER_NAMES[character]} in it, which {kind} cannot hold"
            raise FirthError(what, where=path, do='replace it with _, or use format "firth"')


_CHARACTER_NAMES = {" ": "a space", "\t": "a tab", "\0": "a zero byte", "\r": "a carriage return"}
