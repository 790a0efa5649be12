"""Our own file: safetensors, memory-mapped, so that opening it costs nothing whatever its size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.data import mapped
from firth.errors import FirthError
from firth.vectors.files import output
from firth.vectors.store import WordVectors
from firth.vectors.subwords import Subwords
from firth.vectors.words import Words


def write(store: WordVectors, path: Path, note: Mapping[str, Any] | None = None) -> None:
    """Everything the store holds, with a note of the caller's."""
    about = {"kind": "vectors", "note": dict(note or {})}
    if store.subwords is not None:
        about["ngrams"] = [store.subwords.least, store.subwords.most]
        about["buckets"] = store.subwords.count
    if store.mean:
        about["mean"] = True
    for _ in output.row_blocks(store):
        pass  # NaN is found before anything is written
    mapped.write(path, _arrays(store), about)


def _arrays(store: WordVectors) -> dict[str, np.ndarray]:
    """The tensors by name, those of wide numbers first: so all are aligned without gaps."""
    parts = store.subwords
    found = {
        "counts": store.counts,
        "vectors": store.vectors,
        "context": store.context,
        "buckets": None if parts is None else parts.buckets,
        "own": None if parts is None else parts.own,
        "used": None if parts is None else parts.used,
        "words": np.frombuffer(store.words.blob, np.uint8),
    }
    return {name: np.asarray(array) for name, array in found.items() if array is not None}


def read(path: Path) -> WordVectors:
    """The store; its arrays are read when they are used."""
    arrays, about = _open(path)
    words = Words(bytes(arrays["words"]))
    parts = None
    if "buckets" in arrays:
        kept = (arrays["buckets"], *about["ngrams"], arrays.get("own"), arrays.get("used"), about["buckets"])
        parts = Subwords(*kept)
    if len(words) != len(arrays["vectors"]):
        raise FirthError(f"{len(words)} words for {len(arrays['vectors'])} vectors", where=path, do=mapped.AGAIN)
    counts, context = arrays.get("counts"), arrays.get("context")
    mean = about.get("mean") is True
    return WordVectors(words, arrays["vectors"], counts=counts, context=context, subwords=parts, mean=mean, where=path)


def read_note(path: Path) -> dict[str, Any]:
    """The note that `write` was given."""
    return _open(path)[1]["note"]


def _open(path: Path) -> tuple[mapped.Arrays, mapped.About]:
    return mapped.read(path, "a file of word vectors", _check)


def _check(arrays: mapped.Arrays, about: mapped.About) -> None:
    """The arrays are those of vectors, and what the file says of them is sound; ValueError or the like if not."""
    if not {"words", "vectors"} <= set(arrays) or ("buckets" in arrays) != ("ngrams" in about):
        raise ValueError
    if any(array.ndim != (1 if name in ("words", "counts", "used") else 2) for name, array in arrays.items()):
        raise ValueError
    least, most = about.get("ngrams", (0, 0))
    about["buckets"] = int(about.get("buckets", 0))
    if about["kind"] != "vectors" or not isinstance(about["note"], dict) or not 0 <= int(least) <= int(most):
        raise ValueError
