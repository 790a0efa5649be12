"""Our own format of word vectors: safetensors, memory-mapped, so that a file of any size opens at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.datasets import memory_map
from firth.embeddings.formats import vector_output
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError


def write(store: WordVectors, path: Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write word vectors with counts, context vectors and subwords, and metadata of the caller's."""
    about = {"kind": "vectors", "note": dict(metadata or {})}
    if store.subwords is not None:
        about["ngrams"] = [store.subwords.min_n, store.subwords.max_n]
        about["buckets"] = store.subwords.bucket_count
    if store.is_mean:
        about["mean"] = True
    for _ in vector_output.row_blocks(store):
        pass  # NaN is detected before anything is written
    memory_map.write(path, _arrays(store), about)


def _arrays(store: WordVectors) -> dict[str, np.ndarray]:
    """The tensors by name, those of wide dtypes first: so all are aligned without padding."""
    subwords = store.subwords
    arrays = {
        "counts": store.counts,
        "vectors": store.vectors,
        "context": store.context,
        "buckets": None if subwords is None else subwords.buckets,
        "own": None if subwords is None else subwords.word_rows,
        "used": None if subwords is None else subwords.used_buckets,
        "words": np.frombuffer(store.words.blob, np.uint8),
    }
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}


def read(path: Path) -> WordVectors:
    """The word vectors; arrays are loaded lazily."""
    arrays, about = _open(path)
    words = WordTable(bytes(arrays["words"]))
    subwords = None
    if "buckets" in arrays:
        min_n, max_n = about["ngrams"]
        word_rows, used = arrays.get("own"), arrays.get("used")
        subwords = Subwords(arrays["buckets"], min_n, max_n, word_rows, used, about["buckets"])
    if len(words) != len(arrays["vectors"]):
        raise FirthError(f"{len(words)} words for {len(arrays['vectors'])} vectors", where=path, do=memory_map.REWRITE)
    return WordVectors(
        words,
        arrays["vectors"],
        counts=arrays.get("counts"),
        context=arrays.get("context"),
        subwords=subwords,
        is_mean=about.get("mean") is True,
        where=path,
    )


def read_metadata(path: Path) -> dict[str, Any]:
    """The caller's metadata that `write` was given."""
    return _open(path)[1]["note"]


def _open(path: Path) -> tuple[memory_map.Arrays, memory_map.Metadata]:
    return memory_map.read(path, "a file of word vectors", _check)


def _check(arrays: memory_map.Arrays, about: memory_map.Metadata) -> None:
    """Validate the arrays and the metadata of word vectors; ValueError, TypeError or KeyError if they are not."""
    if not {"words", "vectors"} <= set(arrays) or ("buckets" in arrays) != ("ngrams" in about):
        raise ValueError
    if any(array.ndim != (1 if name in ("words", "counts", "used") else 2) for name, array in arrays.items()):
        raise ValueError
    min_n, max_n = about.get("ngrams", (0, 0))
    about.setdefault("buckets", 0)
    if any(type(number) is not int for number in (min_n, max_n, about["buckets"])):
        raise ValueError
    if about["kind"] != "vectors" or not isinstance(about["note"], dict) or not 0 <= min_n <= max_n:
        raise ValueError
