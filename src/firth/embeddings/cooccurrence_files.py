"""The co-occurrence matrix of a training corpus, in memory or in files: the input of GloVe and count-based vectors."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from firth.config.schema import CountVectors, GloVe
from firth.embeddings import cooccurrence
from firth.embeddings.training_text import BLOCK, Corpus
from firth.errors import FirthError
from firth.runs import atomic_files

_IDS = "ids.bin"
_FILES = (_IDS, "rows.bin", "cols.bin", "weights.bin")


def token_rows(corpus: Corpus, folder: Path | None = None) -> np.ndarray:
    """int32 (tokens,), a writable copy: the row of each token, or NONE or END; with a folder, in a file there."""
    ids = allocate(folder, _IDS, (len(corpus.tokens),), np.int32)
    for begin in range(0, len(ids), BLOCK):
        ids[begin : begin + BLOCK] = corpus.row_of[corpus.tokens[begin : begin + BLOCK]]
    return ids


def count_corpus(
    corpus: Corpus, config: GloVe | CountVectors, threads: int, folder: Path | None = None, dtype: type = np.float32
) -> cooccurrence.CooccurrenceCounts:
    """The co-occurrence counts of a corpus, by the configuration's window, context and distance weighting; with a
    folder, in files there."""
    return cooccurrence.count_cooccurrences(
        token_rows(corpus, folder),
        corpus.starts,
        len(corpus.words),
        window=config.window,
        context=config.context,
        distance_weighting=config.distance_weighting,
        dtype=dtype,
        threads=threads,
        folder=folder,
    )


def remove_files(folder: Path | None) -> None:
    """Delete the files of `count_corpus` and `token_rows`; a file that the system keeps open stays."""
    for name in () if folder is None else _FILES:
        with suppress(OSError):
            (folder / name).unlink()


def no_cooccurrences() -> FirthError:
    """The error for a text without co-occurrences."""
    do = "give longer documents, a larger window or a lower min_count"
    return FirthError("no two words of the vocabulary co-occur in the text", where="text", do=do)


def allocate(folder: Path | None, name: str, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """An uninitialised array: in memory, or in a new file of the folder, memory-mapped."""
    if folder is None or not shape[0]:
        return np.empty(shape, dtype)
    atomic_files.make_folder(folder)
    with atomic_files.explain_errors(folder):
        (folder / name).unlink(missing_ok=True)  # an older array may still be mapped to it
        return np.asarray(np.memmap(folder / name, dtype, "w+", shape=shape))
