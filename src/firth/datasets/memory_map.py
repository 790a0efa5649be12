"""Memory-mapped arrays in one safetensors file: opening it reads only its header, whatever its size."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from firth.datasets.compression import open_atomic
from firth.errors import FirthError
from firth.runs import atomic_files, json_files
from firth.runs.weights import CHECKSUM, METADATA_KEY, checksum, read_header, require_checksum

REWRITE = "the file is damaged or cut short: write it again"
_TYPES = {"I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "F32": np.dtype("<f4"), "U8": np.dtype("u1")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_ALIGN = 64  # bytes: the first array begins at a multiple of it
_BLOCK = 1 << 22  # bytes written at once, about
_BROKEN = (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)

Arrays = dict[str, np.ndarray]
Metadata = dict[str, Any]


def write(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    """Write arrays, metadata (JSON values) and their checksum; give arrays of wide types first: so all are aligned."""
    header, at = {}, 0
    for name, array in arrays.items():
        kind = _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    signed = {**metadata, CHECKSUM: checksum(header, metadata, _blocks(arrays))}
    header["__metadata__"] = {METADATA_KEY: json.dumps(signed, sort_keys=True)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGN)
    with open_atomic(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for block in _blocks(arrays):
            file.write(block)


def _blocks(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes]:
    """The bytes of all arrays."""
    for array in arrays.values():
        rows = max(1, _BLOCK * len(array) // max(1, array.nbytes))
        for low in range(0, len(array), rows):
            yield np.ascontiguousarray(array[low : low + rows], array.dtype.newbyteorder("<")).tobytes()


def verify(path: Path) -> None:
    """Read the file that `read` has opened from its beginning to its end, and refuse it if its checksum differs."""
    with atomic_files.open_file(path) as file:
        tensors, metadata = _read_header(file)
        require_checksum(path, tensors, metadata, iter(partial(file.read, _BLOCK), b""))


def _read_header(file: BinaryIO) -> tuple[Mapping[str, Any], Metadata]:
    """What the header says of the tensors, and the metadata."""
    header = read_header(file)
    return header.tensors, json_files.decode(header.metadata[METADATA_KEY].encode(), dict[str, Any])


def read(
    path: Path, what: str, check: Callable[[Arrays, Metadata], None], mode: Literal["r", "c"] = "r"
) -> tuple[Arrays, Metadata]:
    """The memory-mapped arrays and the metadata of a file, checked against its length.

    `check` raises ValueError or the like if they are not those of `what`; mode c: changes stay in memory."""
    try:
        with atomic_files.open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            tensors, metadata = _read_header(file)
            metadata.pop(CHECKSUM, None)
            start = file.tell()
            arrays = {name: _map_array(path, entry, start, size, mode) for name, entry in tensors.items()}
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
