"""Which words of a corpus stand near which, and how often: what GloVe and counted vectors begin with."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from firth.config.schema import Counted, GloVe
from firth.counts import cooccurrence
from firth.errors import FirthError
from firth.runs import files
from firth.vectors.corpus import BLOCK, Corpus

_IDS = "ids.bin"
_FILES = (_IDS, "rows.bin", "cols.bin", "weights.bin")


def rows(corpus: Corpus, folder: Path | None = None) -> np.ndarray:
    """int32 (tokens,), one's own to change: the row of each token, or NONE or END; with a folder, in a file there."""
    found = room(folder, _IDS, (len(corpus.tokens),), np.int32)
    for begin in range(0, len(found), BLOCK):
        found[begin : begin + BLOCK] = corpus.row_of[corpus.tokens[begin : begin + BLOCK]]
    return found


def count(
    corpus: Corpus, config: GloVe | Counted, threads: int, folder: Path | None = None, precision: type = np.float32
) -> cooccurrence.Cells:
    """The cells of a corpus by the window, side and distance of the configuration; with a folder, in files there."""
    return cooccurrence.cells(
        rows(corpus, folder),
        corpus.starts,
        len(corpus.words),
        window=config.window,
        side=config.side,
        distance=config.distance,
        precision=precision,
        threads=threads,
        place=folder,
    )


def remove(folder: Path | None) -> None:
    """Delete the files of `count` and `rows`; one that some system keeps open stays."""
    for name in () if folder is None else _FILES:
        with suppress(OSError):
            (folder / name).unlink()


def none_near() -> FirthError:
    """The error for a text without cells."""
    do = "give longer documents, a larger window or a lower min_count"
    return FirthError("no two words of the vocabulary stand near each other", where="text", do=do)


def room(folder: Path | None, name: str, shape: tuple[int, ...], kind: type) -> np.ndarray:
    """An array to be filled: in memory, or in a new file of the folder, memory-mapped."""
    if folder is None or not shape[0]:
        return np.empty(shape, kind)
    files.make_folder(folder)
    with files.explained(folder):
        (folder / name).unlink(missing_ok=True)  # an older array may still be mapped to it
        return np.asarray(np.memmap(folder / name, kind, "w+", shape=shape))
