"""Arrays and JSON metadata in one safetensors file: the format of search indices, sense vectors and classifiers."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.runs import atomic_files

_BROKEN = (struct.error, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)
METADATA_KEY = "firth"  # the one metadata key; with several keys their order would differ between processes


def write(path: str | Path, kind: str, metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays and the metadata (JSON values) atomically; `kind` says what they are."""
    from safetensors.numpy import save

    text = json.dumps({"kind": kind, **metadata}, ensure_ascii=False, sort_keys=True)
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {METADATA_KEY: text})
    atomic_files.replace_file(Path(path), data)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The metadata and the arrays of a file of this kind."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    do = "write it again"
    try:
        with atomic_files.open_file(Path(path)) as file:
            data = file.read()
    except OSError as error:
        raise FirthError(f"cannot read it: {error.strerror}", where=path, do="give the right path") from None
    try:
        (length,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
        arrays = load(data)
    except (*_BROKEN, SafetensorError):
        raise FirthError(f"not a file with {kind}, or truncated", where=path, do=do) from None
    if not isinstance(metadata, dict) or metadata.get("kind") != kind:
        raise FirthError(f"not a file with {kind}", where=path, do=do)
    return metadata, arrays
