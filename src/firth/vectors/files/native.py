"""Our own file: safetensors, memory-mapped, so that opening it costs nothing whatever its size."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.data.packed import replacing
from firth.errors import FirthError
from firth.vectors.files import output
from firth.vectors.store import WordVectors
from firth.vectors.subwords import Subwords
from firth.vectors.words import Words

NOTE = "firth"  # the one metadata key, with JSON in it
_TYPES = {"I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "F32": np.dtype("<f4"), "U8": np.dtype("u1")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_ALIGN = 64  # bytes: the first tensor begins at a multiple of it
_HEADER_LIMIT = 1 << 20
_AGAIN = "the file is damaged or cut short: write it again"


def write(store: WordVectors, path: Path, note: Mapping[str, Any] | None = None) -> None:
    """Everything the store holds, with a note of the caller's."""
    arrays = _arrays(store)
    head, at = {}, 0
    for name, array in arrays.items():
        head[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    about = {"kind": "vectors", "note": dict(note or {})}
    if store.subwords is not None:
        about["ngrams"] = [store.subwords.least, store.subwords.most]
        about["buckets"] = store.subwords.count
    if store.mean:
        about["mean"] = True
    head["__metadata__"] = {NOTE: json.dumps(about, sort_keys=True)}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGN)
    for _ in output.row_blocks(store):
        pass  # NaN is found before anything is written
    with replacing(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            for low in range(0, len(array), output.ROWS if array.ndim > 1 else 1 << 20):
                high = low + (output.ROWS if array.ndim > 1 else 1 << 20)
                file.write(np.ascontiguousarray(array[low:high]).tobytes())


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
        raise FirthError(f"{len(words)} words for {len(arrays['vectors'])} vectors", where=path, do=_AGAIN)
    counts, context = arrays.get("counts"), arrays.get("context")
    mean = about.get("mean") is True
    return WordVectors(words, arrays["vectors"], counts=counts, context=context, subwords=parts, mean=mean, where=path)


def read_note(path: Path) -> dict[str, Any]:
    """The note that `write` was given."""
    return _open(path)[1]["note"]


def _open(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors, mapped, and what the file says of itself; all is checked against the file's length."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _HEADER_LIMIT:
                raise ValueError
            head = json.loads(file.read(length))
        about = _about(head.pop("__metadata__"))
        arrays = {name: _mapped(path, entry, 8 + length, size) for name, entry in head.items()}
        if not {"words", "vectors"} <= set(arrays) or ("buckets" in arrays) != ("ngrams" in about):
            raise ValueError
        if any(array.ndim != (1 if name in ("words", "counts", "used") else 2) for name, array in arrays.items()):
            raise ValueError
    except OSError as error:
        raise FirthError(f"cannot be read ({error.strerror or error})", where=path, do="check the path") from None
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise FirthError("not a file of word vectors that firth wrote, or damaged", where=path, do=_AGAIN) from None
    return arrays, about


def _about(metadata: Mapping[str, str]) -> dict[str, Any]:
    found = json.loads(metadata[NOTE])
    least, most = found.get("ngrams", (0, 0))
    found["buckets"] = int(found.get("buckets", 0))
    if found["kind"] != "vectors" or not isinstance(found["note"], dict) or not 0 <= int(least) <= int(most):
        raise ValueError
    return found


def _mapped(path: Path, entry: Mapping[str, Any], start: int, size: int) -> np.ndarray:
    dtype, shape = _TYPES[entry["dtype"]], tuple(int(side) for side in entry["shape"])
    low, high = entry["data_offsets"]
    count = 1
    for side in shape:
        count *= side
    if min((*shape, low), default=0) < 0 or high - low != count * dtype.itemsize or start + high > size:
        raise ValueError
    if not count:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", start + low, shape)
