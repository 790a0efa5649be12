"""Memory-mapped arrays in one safetensors file: opening it reads only its header, whatever its size."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from firth.datasets.compression import open_atomic
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.runs.weights import METADATA_KEY

REWRITE = "the file is damaged or cut short: write it again"
_TYPES = {"I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "F32": np.dtype("<f4"), "U8": np.dtype("u1")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_ALIGN = 64  # bytes: the first array begins at a multiple of it
_HEADER_LIMIT = 1 << 20
_BLOCK = 1 << 22  # bytes written at once, about
_BROKEN = (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)

Arrays = dict[str, np.ndarray]
Metadata = dict[str, Any]


def write(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    """Write arrays and metadata (JSON values); give arrays of wide types first, so that all are aligned."""
    header, at = {}, 0
    for name, array in arrays.items():
        kind = _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    header["__metadata__"] = {METADATA_KEY: json.dumps(metadata, sort_keys=True)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGN)
    with open_atomic(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, array in arrays.items():
            rows = max(1, _BLOCK * len(array) // max(1, array.nbytes))
            for low in range(0, len(array), rows):
                dtype = _TYPES[header[name]["dtype"]]
                file.write(np.ascontiguousarray(array[low : low + rows], dtype).tobytes())


def read(
    path: Path, what: str, check: Callable[[Arrays, Metadata], None], mode: Literal["r", "c"] = "r"
) -> tuple[Arrays, Metadata]:
    """The memory-mapped arrays and the metadata of a file, checked against its length.

    `check` raises ValueError or the like if they are not those of `what`; mode c: changes stay in memory."""
    try:
        with atomic_files.open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _HEADER_LIMIT:
                raise ValueError
            header = json.loads(file.read(length))
            metadata = json.loads(header.pop("__metadata__")[METADATA_KEY])
            arrays = {name: _map_array(path, entry, 8 + length, size, mode) for name, entry in header.items()}
        check(arrays, metadata)
    except OSError as error:
        raise FirthError(f"cannot be read ({error.strerror or error})", where=path, do="check the path") from None
    except _BROKEN:
        raise FirthError(f"not {what} that firth wrote, or damaged", where=path, do=REWRITE) from None
    return arrays, metadata


def _map_array(path: Path, entry: Mapping[str, Any], start: int, size: int, mode: str) -> np.ndarray:
    dtype, shape = _TYPES[entry["dtype"]], tuple(int(side) for side in entry["shape"])
    (low, high), count = entry["data_offsets"], math.prod(shape)
    if min((*shape, low)) < 0 or high - low != count * dtype.itemsize or start + high > size:
        raise ValueError
    if not count:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, mode, start + low, shape)
