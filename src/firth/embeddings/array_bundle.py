"""Arrays and JSON metadata in one safetensors file: the format of search indices, sense vectors and classifiers."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.errors import FirthError
from firth.runs import atomic_files, json_files
from firth.runs.weights import CHECKSUM, METADATA_KEY, checksum, read_header, require_checksum

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BROKEN = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)


def write(path: str | Path, kind: str, metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays, the metadata (JSON values) and their checksum atomically; `kind` says what they are."""
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = json.loads(json.dumps({"kind": kind, **metadata}))  # as it is read
    about[CHECKSUM] = _checksum(save(plain), about)
    text = json.dumps(about, ensure_ascii=False, sort_keys=True)
    atomic_files.replace_file(Path(path), save(plain, {METADATA_KEY: text}))


def sparse_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """The sparse matrix of arrays that were read. ValueError if an index leads out of them: scipy does not look at the
    indices where the last start is 0 or less, and its products read and write wherever they point."""
    from scipy.sparse import csr_array

    if any(array.ndim != 1 for array in (values, columns, starts)) or len(starts) != shape[0] + 1:
        raise ValueError
    if columns.dtype.kind != "i" or starts.dtype.kind != "i" or not len(values) == len(columns) == starts[-1]:
        raise ValueError
    if starts[0] != 0 or (np.diff(starts) < 0).any() or columns.min(initial=0) < 0:
        raise ValueError
    if columns.max(initial=-1) >= shape[1]:
        raise ValueError
    return csr_array((values, columns, starts), shape=shape)


def _checksum(data: bytes, about: Mapping[str, Any]) -> str:
    file = io.BytesIO(data)
    return checksum(read_header(file).tensors, about, [file.read()])


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
        header = read_header(file := io.BytesIO(data))
        metadata = json_files.decode(header.metadata[METADATA_KEY].encode(), dict[str, Any])
        arrays = load(data)
    except (*_BROKEN, SafetensorError):
        raise FirthError(f"not a file with {kind}, or truncated", where=path, do=do) from None
    if metadata.get("kind") != kind:
        raise FirthError(f"not a file with {kind}", where=path, do=do)
    require_checksum(Path(path), header.tensors, metadata, [file.read()])
    return metadata, arrays
